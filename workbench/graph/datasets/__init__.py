"""(see ARCHITECTURE.md)"""
