"""The benchmark of audit logs: its logs are whole, and every way through them sees every event."""

import pytest


@pytest.mark.parametrize("is_terse", [False, True])
def test_every_way_sees_every_event(beside, tmp_path, is_terse):
    benchmark = beside("audit_log")
    log = benchmark.make_log(tmp_path / "log.jsonl", 30, is_terse=is_terse)
    assert log.events == 180
    assert benchmark.verify_log(log.path).is_evidence
    for way in (benchmark.by_hand, benchmark.verify, benchmark.read, benchmark.examine):
        assert benchmark.seconds(way, log) > 0


def test_a_way_that_misses_an_event_ends_the_benchmark(beside, tmp_path):
    benchmark = beside("audit_log")
    log = benchmark.make_log(tmp_path / "log.jsonl", 2, is_terse=True)
    with pytest.raises(SystemExit, match="saw 11 of 12 events"):
        benchmark.seconds(lambda path: 11, log)


def test_rows_have_names_of_their_own(beside):
    names = [row.what for row in beside("audit_log").measure(True)]
    assert len(names) == len(set(names)) == 6
