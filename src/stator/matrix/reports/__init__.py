"""A run for people and for machines: terminal grid, self-contained page, JUnit, Markdown. JSON is the run itself."""
