"""Running cells: one graph at a time brought up, asked and taken down (`cell`), several beside each other (`pool`)."""
