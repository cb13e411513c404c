from stator.matrix.results import MatrixRun
def to_markdown(run: MatrixRun) -> str:
    return ''
