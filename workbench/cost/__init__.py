"""Analytic models of what training costs: NumPy and plain Python, nothing is measured here."""

from workbench.cost.pipeline import Schedule, Task, bubble, simulate_layers, simulate_stages

__all__ = ["Schedule", "Task", "bubble", "simulate_layers", "simulate_stages"]
