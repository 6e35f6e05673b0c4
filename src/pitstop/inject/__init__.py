"""What a Python process under `pitstop run` loads before the user's script.

`site/` is put in front of PYTHONPATH; its `sitecustomize` hands over to
`autoload`, which waits for TensorFlow and Keras to be imported.
"""
