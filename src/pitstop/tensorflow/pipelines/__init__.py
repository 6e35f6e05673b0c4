"""`tf.data` pipelines: their stages, functions and buffers."""
