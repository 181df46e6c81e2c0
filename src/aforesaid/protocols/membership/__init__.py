"""Who is in the group, and on which stream two of its processes speak: a machine beside the algorithms.

Membership knows no algorithm, no clock, no socket and no chance of its own: what happened is told to it, and
it says what to do. A node moves the bytes; the tests play it through churn, partitions and crossing calls.

- `epochs`: which calls are taken, and which of the streams between two processes counts.
- `acquaintances`: whom a process has heard of, and in which order it looks for them.
- `elders`: how the parts of a group that fell apart tell which of them is the older one.
- `member`: whom a member tells of its elder, and whom it answers.
- `rejoining`: where a process that has lost its group looks for it, and who founds the group anew.
"""
