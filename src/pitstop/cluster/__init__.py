"""Several runs that are one training: who they are, and how their supervisors talk.

Nothing here imports TensorFlow.  `spec`, `roster` and `lease` decide; `conversation`,
`leader_server` and `member_client` talk.
"""
