"""What each profiler costs the program and its user."""


def tasks(options):
    return []
