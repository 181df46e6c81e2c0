"""What tests share, imported by name: `from support.harness import Recorder`.

There is one effects sink that remembers, `recorder.Recorder`, and one hand-driven network, `stage.Stage`; the
stages of single algorithms add their own words to it. What only one room of tests uses stays in that room and
is imported by its path below tests: `from net.net_stage import until`.
"""
