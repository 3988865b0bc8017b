// Asks what the partitions cost for other widths, epochs or links, and keeps the page at what the kernel has.

export class Costing {
  constructor(explorer) { Object.assign(this, { explorer, pending: 0, again: false }); }

  /** Asks where the kernel's settings are not those of the costs on the page: Python, or another view, changed them. */
  follow() {
    const { costs, snapshot } = this.explorer;
    if (this.pending) this.again = true; // the answer on its way may be older than the snapshot that came
    else if (costs && JSON.stringify(snapshot.cost) !== JSON.stringify(costs.settings)) this.ask();
  }

  /**
   * Asks for the costs with a change; what it does not name stays as the kernel has it. A change that the kernel
   * refuses leaves what was shown, and the controls show it again.
   */
  async ask(change = {}) {
    const { explorer } = this;
    this.pending += 1;
    try {
      const answer = await explorer.ask("cost", change);
      if (explorer.gone) return;
      explorer.trouble.replaceChildren();
      if (answer.costs) this.#show(answer);
    } catch (error) { explorer.fail(error); } finally { this.pending -= 1; }
    explorer.drawControls();
    if (this.again && !this.pending) { this.again = false; this.follow(); }
  }

  #show({ costs, figures }) {
    const { explorer } = this;
    explorer.costs = costs;
    figures.forEach((rows, i) => { if (explorer.columns[i]) explorer.columns[i].figures = rows; });
    explorer.drawDetails();
    explorer.drawCost();
    explorer.root.dataset.width = costs.settings.widths.join(",");
  }
}
