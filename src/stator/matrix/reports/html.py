from stator.matrix.results import MatrixRun
def to_html(run: MatrixRun) -> str:
    return ''
