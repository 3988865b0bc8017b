"""L8: ``%%distributed --trainers 2``: a cell whose code runs on every rank.

``%load_ext workbench`` brings it, and so does ``wb.connect()`` in a notebook.
"""

from __future__ import annotations

import argparse
import ast
import linecache
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.core.errors import Findings, WorkbenchError

if TYPE_CHECKING:
    from workbench.session import Session

RESULT = "_workbench_result"


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        findings = Findings("%%distributed")
        findings.add("options", "--trainers N, --threads N, --session NAME", message, "%%distributed --trainers 2")
        findings.raise_if_any()
        raise AssertionError("there was a finding")


def parse_options(line: str) -> argparse.Namespace:
    """Return the options of the magic's line.

    Raises
    ------
    InputError
        Where an option is unknown or no number.
    """
    parser = _Options(prog="%%distributed", add_help=False)
    parser.add_argument("--trainers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--session", default="", help="a variable that holds a session; else the local cluster")
    return parser.parse_args(shlex.split(line))


def prepare_cell(source: str, name: str) -> ast.Module:
    """Return a cell's syntax tree, with the value of its last expression kept under `RESULT`.

    Raises
    ------
    SyntaxError
    """
    tree = ast.parse(source, filename=name)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.copy_location(ast.Name(id=RESULT, ctx=ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign(targets=[target], value=last.value), last)
    return ast.fix_missing_locations(tree)


def names_used(tree: ast.Module) -> list[str]:
    """Return the names that a cell reads anywhere, in its functions too."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return sorted(found)


def values_of(names: Iterable[str], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the notebook has under these names.

    Raises
    ------
    InputError
        For every value that cannot travel, by its name.
    """
    import cloudpickle

    findings, found = Findings("%%distributed"), {}
    for name in names:
        if name not in variables:
            continue  # a builtin, or made by the cell itself
        try:
            cloudpickle.dumps(variables[name])
        except Exception as error:  # whatever an object's own pickling raises
            fix = f"make {name} inside the cell, on the rank"
            findings.add(name, "a value that can travel to another process", f"{type(error).__name__}: {error}", fix)
        else:
            found[name] = variables[name]
    findings.raise_if_any()
    return found


def run_cell(source: str, name: str, values: Mapping[str, Any], rank_context: Any) -> Any:
    """Run a cell's code on a rank; return the value of its last expression, None where that is a statement."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "__main__", "rank_context": rank_context, RESULT: None, **values}
    exec(compile(prepare_cell(source, name), name, "exec"), namespace)
    return namespace[RESULT]


def distributed(line: str, cell: str, variables: Mapping[str, Any]) -> list[Any] | None:
    """Run a cell on every rank; return the values of its last expression in rank order, None where it has none."""
    options, name = parse_options(line), "<distributed cell>"
    values = values_of(names_used(prepare_cell(cell, name)), variables)
    session = _session(options, variables)
    results = session.run_function(run_cell, cell, name, values, trainers=options.trainers, threads=options.threads)
    return None if all(result is None for result in results) else results


def _session(options: argparse.Namespace, variables: Mapping[str, Any]) -> Session:
    from workbench.session import Session, connect

    if not options.session:
        return connect(trainers=options.trainers)
    session = variables.get(options.session)
    if isinstance(session, Session):
        return session
    findings = Findings("%%distributed")
    fix = f"{options.session} = wb.connect(...)"
    findings.add("--session", "a variable that holds a Session", f"{options.session}: {type(session).__name__}", fix)
    findings.raise_if_any()
    raise AssertionError("there was a finding")


def register(shell: Any) -> None:
    """Give an IPython shell the magic."""

    def magic(line: str, cell: str) -> list[Any] | None:
        try:
            return distributed(line, cell, shell.user_ns)
        except WorkbenchError as error:
            raise error.with_traceback(None) from None  # its text is the whole story

    shell.register_magic_function(magic, "cell", "distributed")
