from workbench.dashboard.steps import STEP_COMPLETED, StepAssembler, StepRecord, rank_step, with_completed_steps
from workbench.testing import event_logs


def records(events) -> list[StepRecord]:
    told = (event for event, _ in with_completed_steps(events, StepAssembler()))
    return [event.data["record"] for event in told if event.kind == STEP_COMPLETED]


def test_a_step_is_complete_when_every_rank_told_its_share() -> None:
    found = records(event_logs.healthy(last_step=7))
    assert [record.step for record in found] == [1, 2, 3, 4, 5, 6, 7]
    assert all([share.rank for share in record.ranks] == [0, 1] for record in found)
    assert found[0].num_seeds == 2048


def test_the_completed_step_follows_its_last_share_at_once() -> None:
    kinds = [event.kind for event, _ in with_completed_steps(event_logs.healthy(last_step=3), StepAssembler())]
    for i, kind in enumerate(kinds):
        if kind == STEP_COMPLETED:
            assert kinds[i - 1] == "step_finished"


def test_a_step_that_a_rank_never_finished_is_not_complete() -> None:
    found = [record.step for record in records(event_logs.failure_with_restart())]
    assert found == [*range(1, 92), *range(81, 161)]


def test_evaluation_between_steps_is_no_part_of_a_step() -> None:
    event = next(e for e in event_logs.healthy(last_step=2) if e.kind == "step_finished")
    share = rank_step(event)
    spans = [["evaluate", share.start_s - 9.0, 5.0], *event.data["spans"]]
    later = type(event)(kind=event.kind, time_s=event.time_s, rank=event.rank, data={**event.data, "spans": spans})
    assert rank_step(later).start_s == share.start_s
    assert rank_step(later).phase_s["evaluate"] == 5.0


def test_a_step_without_spans_ends_when_it_was_told() -> None:
    event = next(e for e in event_logs.healthy(last_step=2) if e.kind == "step_finished")
    bare = type(event)(kind=event.kind, time_s=event.time_s, rank=0, data={**event.data, "spans": []})
    assert rank_step(bare).start_s == rank_step(bare).end_s == event.time_s
