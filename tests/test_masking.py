"""What looks like a secret is not kept; what only sounds like one is."""

from __future__ import annotations

import re

import pytest

from pitstop.masking import Masker, masked, masked_tree, masked_words

_KEY = "aB3" * 8


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"--api-key={_KEY}", "--api-key=***"),
        ("export DB_PASSWORD=hunter2 && run", "export DB_PASSWORD=*** && run"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=***"),
        (f"TF_TOKEN_app_terraform_io={_KEY}", "TF_TOKEN_app_terraform_io=***"),
        ("mysql://user:pa%20ss@host/db", "mysql://user:***@host/db"),
        ("https://x.org/d.h5?sig=a%2Bb&part=1", "https://x.org/d.h5?sig=***&part=1"),
        (f"Authorization: Bearer {_KEY}", "Authorization: Bearer ***"),
        ('{"password": "hunter2", "lr": 1}', '{"password": "***", "lr": 1}'),
        (f"hf_{_KEY}", "***"),
        (f"wandb login {'0a' * 20}", "wandb login ***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
         "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
    ],
)  # fmt: skip
def test_secrets_are_masked(text: str, kept: str) -> None:
    assert masked(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "--max_tokens=512 --tokenizer=bert-base-uncased-v2",
        "pad_token=<pad>, token_ids: [1, 2, 3], num_tokens: 1000000",
        "KeyError: 'val_loss'",
        "loss: 0.31 - token_accuracy: 0.4",
        "layer token_embedding/kernel (1024, 768)",
        "https://storage.example.org/weights/resnet50.h5",
        "key: layer_1/kernel_12345",
        "monkey=abcdefghijkl1234 keyboard: qwerty12345678",
    ],
)
def test_words_of_training_stay(text: str) -> None:
    assert masked(text) == text


def test_a_secret_may_be_a_word_of_its_own() -> None:
    words = ["python", "train.py", "--hub-token", "abc", "--lr", "0.1", "--password"]
    assert masked_words(words) == [*words[:3], "***", *words[4:]]
    tree = {"command": words, "env": {"DB_PASSWORD": "x1y", "OMP_NUM_THREADS": "4"}}
    assert masked_tree(tree) == {
        "command": [*words[:3], "***", *words[4:]],
        "env": {"DB_PASSWORD": "***", "OMP_NUM_THREADS": "4"},
    }


@pytest.mark.parametrize("cut", range(60))
def test_a_secret_that_two_pieces_share_is_masked(cut: int) -> None:
    block = b"x" * 5000 + b"\n"
    text = block + f"token={_KEY} end\n".encode()
    at = len(block) + min(cut, 30)
    masker = Masker()
    kept = masker.feed(text[:at]) + masker.feed(text[at:]) + masker.rest()
    assert kept == block + b"token=*** end\n"


def test_other_bytes_pass_at_once() -> None:
    masker = Masker()
    assert masker.feed(b"\r 3/10 loss: 0.1") == b"\r 3/10 loss: 0.1"
    assert masker.feed(bytes(range(128, 256))) == bytes(range(128, 256))


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"epoch 3: checking the key", b"epoch 3: checking the "),
        (b'{"user": 1, "api_key": "x', b'{"user": 1, '),
        (b"see https://ann:pass", b"see "),
        (b"-----BEGIN RSA PRIVATE KEY-----", b""),
        (b"loss 0.25 ", b"loss 0.25 "),
    ],
)
def test_of_an_incomplete_line_only_what_may_be_a_secret_is_held(line: bytes, kept: bytes) -> None:
    masker = Masker()
    assert masker.feed(b"begun\n" + line) == b"begun\n" + kept
    assert masker.feed(b"\n").startswith(masked(line.decode()).encode()[len(kept) :])


def test_a_secret_that_is_cut_anywhere_is_masked_as_a_whole_line_is() -> None:
    line = (
        f'curl -H "Authorization: Bearer {_KEY}" --api-key={_KEY} hub_token = "{_KEY}" '
        f"https://ann:{_KEY}@example.org/x?sig={_KEY}&y=1\n"
    )
    starts = [found.start() for found in re.finditer(_KEY, line)]
    assert len(starts) == 5
    for cut in (start + inside for start in starts for inside in range(len(_KEY))):
        masker = Masker()
        kept = masker.feed(line[:cut].encode()) + masker.feed(line[cut:].encode())
        assert kept.decode() + masker.rest().decode() == masked(line)
