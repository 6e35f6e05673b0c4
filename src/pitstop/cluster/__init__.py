"""Several runs that are one training: who they are, and how their supervisors talk.

Nothing here imports TensorFlow.  `spec`, `roster`, `gang` and the agreements decide;
`conversation` and `network_thread` talk; `cluster_link` is what a supervisor holds.
"""
