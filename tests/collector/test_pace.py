"""How the pace of a judge is measured, in times that the test gives."""

from ragtrace_collector.pace import Pace


def test_nothing_is_known_before_the_first_judgement() -> None:
    """Work that waits for a judge of unknown speed is expected at once: it has to be tried."""
    pace = Pace()
    pace.began(0.0)
    assert pace.wait() == 0.0


def test_a_steady_judge_is_read_right() -> None:
    """Ten in line before a judge that gives one every half second wait five seconds."""
    pace = Pace()
    for _ in range(30):
        begun = pace.began(0.0)
    for number in range(1, 21):
        pace.ended(number * 0.5, begun, judged=True)
    assert pace.backlog == 10
    assert abs(pace.wait() - 5.0) < 1e-9


def test_rest_is_not_slowness() -> None:
    """An hour without work does not count as the time that one judgement takes."""
    pace = Pace()
    for begins in (0.0, 3600.0):
        begun = pace.began(begins)
        pace.ended(begins + 0.1, begun, judged=True)
    pace.began(7200.0)
    assert abs(pace.wait() - 0.1) < 1e-9


def test_failures_tell_nothing_of_the_pace() -> None:
    """A worker that dies ends all its work at one moment: that is no speed."""
    pace = Pace()
    for _ in range(3):
        begun = pace.began(0.0)
    pace.ended(2.0, begun, judged=True)
    pace.ended(2.0, begun, judged=False)
    assert (pace.backlog, pace.wait()) == (1, 2.0)


def test_what_is_late_in_spite_of_the_estimate_makes_it_careful_for_a_while() -> None:
    """After a miss half as much is begun; judgements in time win the rest back."""
    pace = Pace()
    for _ in range(60):
        begun = pace.began(0.0)
    for number in range(1, 21):
        pace.ended(number * 0.5, begun, judged=True)
    before = pace.wait()
    for late in (10.0, 10.1, 10.2):
        pace.missed(late, begun)
    assert abs(pace.wait() - 2 * before) < 1e-9
    for number in range(21, 61):
        pace.ended(number * 0.5, begun, judged=True)
    assert pace.trust == 1.0


def test_one_that_is_late_by_itself_makes_nobody_careful() -> None:
    """What had nothing before it and missed its deadline is long: that says nothing of what comes next."""
    pace = Pace()
    long = pace.began(0.0)
    pace.missed(2.0, long)
    pace.ended(3.0, long, judged=False)
    assert (pace.trust, pace.wait()) == (1.0, 0.0)


def test_what_takes_turns_with_a_long_one_counts_from_its_own_beginning() -> None:
    """A short judgement beside a long one took its own time, not that since the long one began."""
    pace = Pace()
    pace.began(0.0)
    short = pace.began(3.5)
    pace.ended(3.6, short, judged=True)
    assert abs(pace.wait() - 0.1) < 1e-9
