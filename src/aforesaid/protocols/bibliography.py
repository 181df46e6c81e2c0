"""The works that our algorithms come from, and how a place in one of them is cited.

Law: a work is cited by authors, year and section, never by a file; `str(cite(key, section))` is that
citation, and it is what docstrings, pages and catalog entries say. docs/bibliography.md is this list, and a
test holds the two equal. A DOI stands here only if the publisher, or a paper that cites the work, gives it;
where `doi` is empty we have not seen one.
"""

from dataclasses import dataclass

from aforesaid.core import Misuse


@dataclass(frozen=True)
class Reference:
    """One work. `authors` are written "Surname, Given names"."""

    key: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int | None
    """None if the work bears no date."""
    used_for: str
    """What of this package comes from it."""
    doi: str = ""
    url: str = ""
    suffix: str = ""
    """"a", "b": tells apart works of the same authors and year."""

    @property
    def label(self) -> str:
        """Authors and year, as in "Raynal, Schiper and Toueg (1991)"; no two works share one."""
        surnames = [author.partition(",")[0] for author in self.authors]
        if len(surnames) > 3:
            names = f"{surnames[0]} and others"
        else:
            names = " and ".join(filter(None, (", ".join(surnames[:-1]), surnames[-1])))
        return f"{names} ({self.year or 'undated'}{self.suffix})"

    @property
    def link(self) -> str:
        """Where to find it: the DOI's address, else `url`, else nothing."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url


@dataclass(frozen=True)
class Citation:
    """A place in a work."""

    reference: Reference
    section: str = ""
    """As in "section 5.6, algorithm 2"; empty for the work as a whole."""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.reference.label, self.section)))


def cite(key: str, section: str = "") -> Citation:
    """The citation of a work of this bibliography."""
    if key not in BIBLIOGRAPHY:
        raise Misuse(f"unknown work {key!r}; there are: {', '.join(BIBLIOGRAPHY)}")
    return Citation(BIBLIOGRAPHY[key], section)


_NEDELEC = "Nédelec, Brice"
_MOLLI = "Molli, Pascal"
_MOSTEFAOUI = "Mostéfaoui, Achour"

_WORKS = (
    Reference(
        "almeida2026hybrid",
        ("Almeida, Paulo Sérgio",),
        "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable Causal Delivery through "
        "Hybrid Buffering",
        "arXiv:2601.11487",
        2026,
        "`hybrid_basic`, `hybrid_sps`, `hybrid_multicast`, `hybrid_multicast_sps`; the sliding array and "
        "maps; table 1; how `rst`, `ks`, `mf`, `cykas`, `newtop` and `tree` are read",
        doi="10.48550/arXiv.2601.11487",
    ),
    Reference(
        "anastasi2004pak",
        ("Anastasi, Giuseppe", "Bartoli, Alberto", "Giannini, Giacomo"),
        "On Causal Broadcasting with Positive Acknowledgments and Bounded-Length Counters",
        "IEEE Transactions on Computers 53(10), 1355–1358",
        2004,
        "a comment on Baldoni (1998): its counters are not bounded as printed",
        doi="10.1109/TC.2004.82",
    ),
    Reference(
        "baldoni1998pak",
        ("Baldoni, Roberto",),
        "A Positive Acknowledgment Protocol for Causal Broadcasting",
        "IEEE Transactions on Computers 47(12), 1341–1350",
        1998,
        "`pak`, `pak_credit`, `pak_nak`",
        doi="10.1109/12.737681",
    ),
    Reference(
        "birman1987reliable",
        ("Birman, Kenneth P.", "Joseph, Thomas A."),
        "Reliable Communication in the Presence of Failures",
        "ACM Transactions on Computer Systems 5(1), 47–76",
        1987,
        "causal broadcast itself, first by carrying the past: `no_waiting`",
        doi="10.1145/7351.7478",
    ),
    Reference(
        "blessing2017tree",
        ("Blessing, Sebastian", "Clebsch, Sylvan", "Drossopoulou, Sophia"),
        "Tree Topologies for Causal Message Delivery",
        "AGERE 2017, 1–10",
        2017,
        "`tree`",
        doi="10.1145/3141834.3141835",
    ),
    Reference(
        "bona1996grasshopper",
        ("di Bona, Rex", "Rosenberg, John"),
        "Causal Message Delivery in the Grasshopper Operating System",
        "HICSS-29, 3–11",
        1996,
        "`tree`: FIFO links along a tree give causal order",
        doi="10.1109/HICSS.1996.495441",
    ),
    Reference(
        "cachin2011book",
        ("Cachin, Christian", "Guerraoui, Rachid", "Rodrigues, Luís"),
        "Introduction to Reliable and Secure Distributed Programming",
        "Springer, second edition",
        2011,
        "the layers perfect links, beb, rb and urb, and the names of the properties",
        doi="10.1007/978-3-642-15260-3",
    ),
    Reference(
        "ezhilchelvan1995newtop",
        ("Ezhilchelvan, Paul D.", "Macêdo, Raimundo A.", "Shrivastava, Santosh K."),
        "Newtop: A Fault-Tolerant Group Communication Protocol",
        "ICDCS 1995, 296–306",
        1995,
        "`newtop`",
        doi="10.1109/ICDCS.1995.500032",
    ),
    Reference(
        "godefroid1996partial",
        ("Godefroid, Patrice",),
        "Partial-Order Methods for the Verification of Concurrent Systems",
        "Springer, Lecture Notes in Computer Science 1032",
        1996,
        "persistent sets: the explorer postpones what matters to nobody else",
    ),
    Reference(
        "guerraoui-slides",
        ("Guerraoui, Rachid",),
        "Distributed Systems: Causal Broadcast",
        "lecture slides, Distributed Programming Laboratory, EPFL",
        None,
        "`best_effort`, `reliable`, `uniform`, `majority`, `no_waiting`, `no_waiting_gc`, `waiting` and "
        "their uniform variants",
    ),
    Reference(
        "hadzilacos1994modular",
        ("Hadzilacos, Vassos", "Toueg, Sam"),
        "A Modular Approach to Fault-Tolerant Broadcasts and Related Problems",
        "technical report, Cornell University",
        1994,
        "validity, agreement, integrity and their uniform forms, which the checker judges",
    ),
    Reference(
        "kshemkalyani1998necessary",
        ("Kshemkalyani, Ajay D.", "Singhal, Mukesh"),
        "Necessary and Sufficient Conditions on Information for Causal Message Ordering and Their Optimal "
        "Implementation",
        "Distributed Computing 11(2), 91–111",
        1998,
        "`ks`",
        doi="10.1007/s004460050044",
    ),
    Reference(
        "lamport1978time",
        ("Lamport, Leslie",),
        "Time, Clocks, and the Ordering of Events in a Distributed System",
        "Communications of the ACM 21(7), 558–565",
        1978,
        "happened before, which causal order follows; the clocks of `newtop`",
        doi="10.1145/359545.359563",
    ),
    Reference(
        "lecuyer1988combined",
        ("L'Ecuyer, Pierre",),
        "Efficient and Portable Combined Random Number Generators",
        "Communications of the ACM 31(6), 742–751",
        1988,
        "the random numbers of the compiled fleet",
        doi="10.1145/62959.62969",
    ),
    Reference(
        "mattern1995lightweight",
        ("Mattern, Friedemann", "Fünfrocken, Stefan"),
        "A Non-Blocking Lightweight Implementation of Causal Order Message Delivery",
        "Theory and Practice in Distributed Systems (Dagstuhl, 1994), Lecture Notes in Computer Science 938, "
        "197–213",
        1995,
        "`mf`",
        doi="10.1007/3-540-60042-6_14",
    ),
    Reference(
        "nedelec2017spray",
        (_NEDELEC, "Tanke, Julian", "Frey, Davide", _MOLLI, _MOSTEFAOUI),
        "An Adaptive Peer-Sampling Protocol for Building Networks of Browsers",
        "World Wide Web 21(3), 629–661 (online 2017, in print 2018)",
        2017,
        "Spray, the peer sampling of `prc_spray`",
        doi="10.1007/s11280-017-0478-5",
    ),
    Reference(
        "nedelec2018preventive",
        (_NEDELEC, _MOLLI, _MOSTEFAOUI),
        "Breaking the Scalability Barrier of Causal Broadcast for Large and Dynamic Systems",
        "SRDS 2018",
        2018,
        "`preventive`; the received numbers",
        url="https://arxiv.org/abs/1805.05201",
        suffix="a",
    ),
    Reference(
        "nedelec2018forget",
        (_NEDELEC, _MOLLI, _MOSTEFAOUI),
        "Causal Broadcast: How to Forget?",
        "OPODIS 2018, Leibniz International Proceedings in Informatics 125, 20:1–20:16",
        2018,
        "`link_memory`, `prc`, `prc_spray`; figure 5",
        doi="10.4230/LIPIcs.OPODIS.2018.20",
        suffix="b",
    ),
    Reference(
        "neumann1951digits",
        ("von Neumann, John",),
        "Various Techniques Used in Connection with Random Digits",
        "Monte Carlo Method, National Bureau of Standards Applied Mathematics Series 12, 36–38",
        1951,
        "the simulator's exponential variates without a logarithm",
    ),
    Reference(
        "raynal1991causal",
        ("Raynal, Michel", "Schiper, André", "Toueg, Sam"),
        "The Causal Ordering Abstraction and a Simple Way to Implement It",
        "Information Processing Letters 39(6), 343–350",
        1991,
        "`rst`",
        doi="10.1016/0020-0190(91)90008-6",
    ),
    Reference(
        "schiper1989new",
        ("Schiper, André", "Eggli, Jorge", "Sandoz, Alain"),
        "A New Algorithm to Implement Causal Ordering",
        "Distributed Algorithms (Nice, 1989), Lecture Notes in Computer Science 392, 219–232",
        1989,
        "causal order between any two processes, before `rst`",
        doi="10.1007/3-540-51687-5_45",
    ),
    Reference(
        "schwarz1994grail",
        ("Schwarz, Reinhard", "Mattern, Friedemann"),
        "Detecting Causal Relationships in Distributed Computations: In Search of the Holy Grail",
        "Distributed Computing 7(3), 149–174",
        1994,
        "vector time, as `waiting` and the checker use it",
        doi="10.1007/BF02277859",
    ),
    Reference(
        "tong2024cykas",
        ("Tong, Yan", "Kuper, Lindsey"),
        "Can You Keep a Secret? A New Protocol for Sender-Side Enforcement of Causal Message Delivery",
        "draft; a later version, with Nathan Liittschwager, is arXiv:2603.14690",
        2024,
        "`cykas`, by the account of Almeida (2026), section 4.3",
        url="https://arxiv.org/abs/2603.14690",
    ),
)

BIBLIOGRAPHY: dict[str, Reference] = {work.key: work for work in _WORKS}
"""Every work by its key, in the order of the authors' names."""
