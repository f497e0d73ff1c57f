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
        pace.began(0.0)
    for number in range(1, 21):
        pace.ended(number * 0.5, judged=True)
    assert pace.backlog == 10
    assert abs(pace.wait() - 5.0) < 1e-9


def test_rest_is_not_slowness() -> None:
    """An hour without work does not count as the time that one judgement takes."""
    pace = Pace()
    for begins in (0.0, 3600.0):
        pace.began(begins)
        pace.ended(begins + 0.1, judged=True)
    pace.began(7200.0)
    assert abs(pace.wait() - 0.1) < 1e-9


def test_failures_tell_nothing_of_the_pace() -> None:
    """A worker that dies ends all its work at one moment: that is no speed."""
    pace = Pace()
    for _ in range(3):
        pace.began(0.0)
    pace.ended(2.0, judged=True)
    pace.ended(2.0, judged=False)
    assert (pace.backlog, pace.wait()) == (1, 2.0)


def test_what_is_late_in_spite_of_the_estimate_makes_it_careful_for_a_while() -> None:
    """After a miss half as much is begun; judgements in time win the rest back."""
    pace = Pace()
    for _ in range(60):
        pace.began(0.0)
    for number in range(1, 21):
        pace.ended(number * 0.5, judged=True)
    before = pace.wait()
    for late in (10.0, 10.1, 10.2):
        pace.missed(late)
    assert abs(pace.wait() - 2 * before) < 1e-9
    for number in range(21, 61):
        pace.ended(number * 0.5, judged=True)
    assert pace.trust == 1.0
