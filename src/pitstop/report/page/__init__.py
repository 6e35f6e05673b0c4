"""The report as one HTML file that holds all it needs: nothing is loaded from anywhere."""

from pitstop.report.page.document import render
