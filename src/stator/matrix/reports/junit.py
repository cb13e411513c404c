from stator.matrix.results import MatrixRun
def to_junit(run: MatrixRun) -> str:
    return ''
