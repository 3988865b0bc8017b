import pickle

import pytest

from workbench.core.errors import Finding, Findings, InputError


def test_all_findings_are_raised_at_once_with_where_expected_got_and_fix():
    findings = Findings("Graph.from_edge_index")
    findings.add("edge_index", "ids from 0", "-1 at column 3", "drop the edge")
    findings.add("x", "finite values", "NaN at row 2, column 5", "x = np.nan_to_num(x)")
    with pytest.raises(InputError) as caught:
        findings.raise_if_any()
    text = str(caught.value)
    assert "2 problems found" in text
    for part in ("edge_index", "ids from 0", "-1 at column 3", "drop the edge", "NaN at row 2", "nan_to_num"):
        assert part in text


def test_warnings_alone_raise_nothing():
    findings = Findings("graph")
    findings.add("edges", "an undirected graph", "a directed one", "graph.to_undirected()", severity="warning")
    findings.raise_if_any()
    assert [finding.severity for finding in findings.items] == ["warning"]


def test_an_input_error_travels_between_processes():
    error = InputError("x", [Finding(where="a", expected="b", got="c", fix="d")])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.findings == error.findings
