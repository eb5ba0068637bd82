"""What sources, architectures, evaluations and solvers *are*, torch-free; their builders live in ``pdual.runtime``."""
