"""A cell on every rank, in JupyterLab: output under the cell, the result, an error, an interrupt."""

from __future__ import annotations

import pytest
from labkit import CURRENT, Notebook

SETUP = "import workbench as wb\nsession = wb.connect(trainers=2, samplers=0)\nfactor = 10"
CELL = """%%distributed --trainers 2
import torch.distributed as dist
print("hello from", rank_context.rank)
value = torch.tensor([float(rank_context.rank + 1)])
dist.all_reduce(value)
factor * value.item()"""
FAILS = """%%distributed
import torch.distributed as dist
if rank_context.rank == 1:
    {}['missing']
else:
    dist.barrier()"""
ENDLESS = "%%distributed\nimport time\nprint('here I wait', flush=True)\ntime.sleep(1000)"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_cell_runs_on_every_rank_fails_readably_and_is_interrupted(notebook: Notebook) -> None:
    notebook.open(SETUP, "import torch").run_all(240)
    try:
        notebook.add_cell(CELL, 240)
        printed = "\n".join(notebook.texts())
        assert "[rank 0] hello from 0" in printed
        assert "[rank 1] hello from 1" in printed
        assert "[30.0, 30.0]" in printed
        assert notebook.errors() == []

        notebook.add_cell(FAILS, 240)
        assert any("rank 1 on" in error and "{}['missing']" in error for error in notebook.errors())
        notebook.screenshot("distributed-cell")

        add = f"""(source) => {{ const {{content}} = {CURRENT};
          content.model.sharedModel.addCell({{cell_type: 'code', source}});
          content.activeCellIndex = content.widgets.length - 1;
          window.jupyterapp.commands.execute('notebook:run-cell'); }}"""
        notebook.page.evaluate(add, ENDLESS)
        notebook.wait_js("() => document.body.textContent.includes('[rank 1] here I wait')", 120)
        notebook.command("kernelmenu:interrupt")
        notebook.wait_idle(30)
        assert any("KeyboardInterrupt" in error for error in notebook.errors())
        status = "wb.attach(wb.runs().id[0]).status"
        notebook.wait_value(status, "stopped", 30)
    finally:
        notebook.execute("session.close(force=True)")
