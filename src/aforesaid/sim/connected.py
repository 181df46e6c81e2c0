"""Who reaches whom over the links of an overlay: what liveness there depends on."""

from aforesaid.core import Process


def strongly_connected(links: dict[Process, list[Process]]) -> bool:
    """True if every process reaches every other one; links to processes that are gone lead nowhere."""
    back: dict[Process, list[Process]] = {name: [] for name in links}
    for name, peers in links.items():
        for peer in peers:
            if peer in back:
                back[peer].append(name)
    return all(_reached(along) >= links.keys() for along in (links, back))


def _reached(links: dict[Process, list[Process]]) -> set[Process]:
    """Whom the first process reaches."""
    todo = list(links)[:1]
    reached = set(todo)
    while todo:
        for peer in links.get(todo.pop(), ()):
            if peer not in reached:
                reached.add(peer)
                todo.append(peer)
    return reached
