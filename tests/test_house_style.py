"""The house rules that a machine can hold: sizes, names, no printing, the top-level folders."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
MODULES = sorted((REPOSITORY / "workbench").rglob("*.py"))
# The scripts that built the shipped data stand beside it as they ran.
MODULES = [path for path in MODULES if not {"node_modules", "files"} & set(path.parts)]
SCRIPTS = sorted(
    path for name in ("tests", "benchmarks", "docs", "notebooks") for path in (REPOSITORY / name).rglob("*.py")
)

TOP_LEVEL = {
    *("workbench", "notebooks", "tests", "benchmarks", "docs", ".ci"),
    *("environment.yml", "pyproject.toml", "constraints.txt", "Makefile", ".gitignore", "LICENSE"),
    *("README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md"),
}

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_KERNEL_LINES = 80


def relative(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def num_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's lines from `def` on, without its docstring."""
    assert function.end_lineno is not None
    first = function.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
    return function.end_lineno - function.lineno + 1 - docstring


def is_kernel(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Compiled by Numba: some decorator is, or calls, one whose name says so."""
    names = {node.id for item in function.decorator_list for node in ast.walk(item) if isinstance(node, ast.Name)}
    return bool(names & {"njit", "kernel", "jit"})


def test_top_level_holds_what_the_design_names() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    assert {line.partition("/")[0] for line in listed.stdout.splitlines()} == TOP_LEVEL


def test_files_are_short() -> None:
    sizes = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in [*MODULES, *SCRIPTS]}
    assert {name: size for name, size in sizes.items() if size > MAX_FILE_LINES} == {}


def test_functions_are_short() -> None:
    too_long = {}
    for path in MODULES:
        for function in functions(path):
            limit = MAX_KERNEL_LINES if is_kernel(function) else MAX_FUNCTION_LINES
            if num_lines(function) > limit:
                too_long[f"{relative(path)}: {function.name}"] = num_lines(function)
    assert too_long == {}


def test_classes_have_at_most_a_dozen_public_methods() -> None:
    crowded = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                methods = [item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
                public = [m for m in methods if not m.name.startswith("_") and not m.decorator_list]
                if len(public) > 12:
                    crowded[f"{relative(path)}: {node.name}"] = len(public)
    assert crowded == {}


def test_names_follow_the_glossary() -> None:
    assert [relative(path) for path in MODULES if path.name in ("utils.py", "helpers.py", "misc.py")] == []
    named_seed = [
        f"{relative(path)}: {function.name}"
        for path in MODULES
        for function in functions(path)
        if not function.name.startswith("_")
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.arg == "seed"
    ]
    assert named_seed == [], "randomness is keyed by rng_seed; a seed is a node"


def test_every_public_function_says_what_it_does() -> None:
    """Classes too, where they do something; a plain record speaks through the names of its fields."""
    silent = [
        f"{relative(path)}: {node.name}"
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if not node.name.startswith("_") and not is_overload(node) and not is_plain_record(node)
        if ast.get_docstring(node) is None
    ]
    assert silent == []


def is_overload(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "overload" for item in node.decorator_list)


def is_plain_record(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return isinstance(node, ast.ClassDef) and all(isinstance(item, ast.AnnAssign) for item in node.body)
