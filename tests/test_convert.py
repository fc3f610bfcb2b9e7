"""Conversion to Orbax: bit-exact, whole or absent, and refused with one line where it cannot be done."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import domino_jax
from convert.checkpoint import TEXTS, main, verify
from domino_jax import checkpoint, orbax_store
from domino_jax.errors import InputError
from domino_jax.safetensors_files import SafetensorsDirectory
from domino_jax.tensors import HEAD_TENSORS
from domino_jax.text import Text
from tests.models import draft_config, published_names, random_tensors, refusal, rows_of, target_config, write, write_random_pair

SMALL_TARGET = target_config(num_hidden_layers=2)
SMALL_DRAFT = draft_config(num_hidden_layers=1, num_target_layers=2, nested=dict(target_layer_ids=[0, 1]))
TIED = SMALL_TARGET | dict(tie_word_embeddings=True)
DFLASH = draft_config(domino=False, num_hidden_layers=1, num_target_layers=2, nested=dict(target_layer_ids=[0, 1]))


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    """A small pair in the published layout."""
    return write_random_pair(tmp_path_factory.mktemp("pair"), SMALL_TARGET, SMALL_DRAFT)


@pytest.fixture(scope="module")
def other_pair(tmp_path_factory) -> tuple[Path, Path]:
    """The same shapes, other weights."""
    return write_random_pair(tmp_path_factory.mktemp("other"), SMALL_TARGET, SMALL_DRAFT, seed=7)


@pytest.fixture(scope="module")
def converted(pair, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("converted") / "pair"
    assert convert(pair, out) == 0
    return out


def convert(pair: tuple[Path, Path], out: Path | str, *options: str) -> int:
    return main(["--target", str(pair[0]), "--draft", str(pair[1]), "--out", str(out), *options])


def bits(directory: Path, dtype=jnp.float32) -> list[tuple]:
    """Shape, type and bytes of every loaded parameter."""
    loaded = checkpoint.load(checkpoint.open_any(directory), dtype)
    return [(leaf.shape, leaf.dtype, np.asarray(leaf).tobytes()) for leaf in jax.tree.leaves(loaded)]


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def one_line(capsys) -> str:
    """The only line on stderr, with nothing on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


# --- the numbers ---


@pytest.mark.parametrize("piece_bytes", [5_000, 1 << 28])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize(("target", "draft"), [(SMALL_TARGET, SMALL_DRAFT), (TIED, DFLASH)], ids=["untied-domino", "tied-dflash"])
def test_a_round_trip_keeps_every_bit(target, draft, dtype, piece_bytes, tmp_path, monkeypatch):
    """Also where it is written and read in many pieces, of one large array or several small ones."""
    monkeypatch.setattr(orbax_store, "PIECE_BYTES", piece_bytes)
    for name, raw, seed in (("target", target, 0), ("draft", draft, 1)):
        write(tmp_path / name, raw, {key: tensor.astype(dtype) for key, tensor in random_tensors(raw, seed).items()})
    sources = tmp_path / "target", tmp_path / "draft"
    assert convert(sources, tmp_path / "out") == 0
    for source in sources:
        opened = checkpoint.open_any(tmp_path / "out" / source.name)
        assert (opened.source.format, opened.stored_dtypes) == ("orbax", [np.dtype(dtype).name])
        assert opened.kind == checkpoint.open_any(source).kind
        assert bits(opened.directory, dtype) == bits(source, dtype)


def test_a_converted_pair_generates_what_its_source_does(pair, converted):
    prompts, options = [[5, 9, 15], [3]], dict(max_new_tokens=12, trace=True)
    source = domino_jax.load(*map(str, pair)).generate(prompts, **options)
    ours = domino_jax.load(str(converted / "target"), str(converted / "draft")).generate(prompts, **options)
    assert [(r.output_ids, r.trace) for r in ours] == [(r.output_ids, r.trace) for r in source]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_dtype_casts_what_is_stored_and_records_it(dtype, pair, tmp_path, capsys):
    assert convert(pair, tmp_path / "out", "--dtype", dtype) == 0
    assert f"stored as {dtype}" in capsys.readouterr().err
    for source in pair:
        stored = tmp_path / "out" / source.name
        assert json.loads((stored / "checkpoint.json").read_text())["dtype"] == [dtype]
        assert bits(stored, jnp.dtype(dtype)) == bits(source, jnp.dtype(dtype))


def test_a_store_loads_in_another_dtype_than_its_own(pair, tmp_path):
    assert convert(pair, tmp_path / "out", "--dtype", "bfloat16") == 0
    narrow = checkpoint.load(checkpoint.open_target(pair[0]), jnp.bfloat16)
    wide = checkpoint.load(checkpoint.open_target(tmp_path / "out" / "target"), jnp.float32)
    same = jax.tree.map(lambda a, b: b.dtype == jnp.float32 and bool((a.astype(jnp.float32) == b).all()), narrow, wide)
    assert all(jax.tree.leaves(same))


@pytest.mark.parametrize("index", [0, 1], ids=["target", "draft"])
def test_either_half_converts_alone(index, pair, tmp_path):
    name = ("target", "draft")[index]
    assert main([f"--{name}", str(pair[index]), "--out", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
    assert bits(tmp_path / "out" / name) == bits(pair[index])


def test_a_converted_pair_converts_again(converted, tmp_path):
    assert convert((converted / "target", converted / "draft"), tmp_path / "out", "--verify") == 0
    assert bits(tmp_path / "out" / "draft") == bits(converted / "draft")


def test_verify_says_that_it_compared(pair, tmp_path, capsys):
    assert convert(pair, tmp_path / "out", "--verify", "--dtype", "bfloat16") == 0
    assert capsys.readouterr().err.count("read back and equal") == 2


def test_verify_finds_other_weights(other_pair, converted):
    for source in other_pair:
        with pytest.raises(RuntimeError, match="was read back different"):
            verify(checkpoint.open_any(source), converted / source.name, None)


ODD_SHAPES = dict(vocab_size=11, hidden_size=6, intermediate_size=5, num_hidden_layers=1, head_dim=4)
ROWS = [
    pytest.param(row, id=f"{kind}-{heads}/{kv_heads}-{row.parameter}")
    for heads, kv_heads in ((6, 2), (3, 3), (4, 1))
    for kind, raw in (
        ("target", target_config(**ODD_SHAPES, num_attention_heads=heads, num_key_value_heads=kv_heads)),
        ("draft", draft_config(**ODD_SHAPES, num_attention_heads=heads, num_key_value_heads=kv_heads, nested=dict(mask_token_id=10))),
    )
    for row in rows_of(raw)
]


@pytest.mark.parametrize("row", ROWS)
def test_unpack_inverts_pack(row):
    rng = np.random.default_rng(0)
    tensors = [rng.normal(size=shape).astype(np.float32) for shape in row.sources.values()]
    packed = row.pack(*tensors)
    assert packed.size == sum(tensor.size for tensor in tensors)
    unpacked = row.unpack(packed)
    assert len(unpacked) == len(tensors)
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(unpacked, tensors, strict=True))


# --- the files beside the arrays ---


def test_configs_and_tokenizer_are_copied_and_nothing_else(speaking_pair, tmp_path):
    target = shutil.copytree(speaking_pair[0], tmp_path / "target")
    for name in TEXTS:
        if not (target / name).exists() and not name.startswith("chat_template"):
            (target / name).write_text("{}")
    (target / "notes.md").write_text("not ours")
    assert convert((target, speaking_pair[1]), tmp_path / "out") == 0
    beside = {name: held for name, held in contents(tmp_path / "out" / "target").items() if not name.startswith("arrays")}
    assert beside.keys() == {"checkpoint.json", "config.json", *TEXTS} - {"chat_template.jinja", "chat_template.json"}
    assert all(held == (target / name).read_bytes() for name, held in beside.items() if name != "checkpoint.json")
    assert {path.name for path in (tmp_path / "out" / "draft").iterdir()} == {"config.json", "checkpoint.json", "arrays"}


def test_a_converted_tokenizer_speaks(speaking_pair, tmp_path):
    assert convert(speaking_pair, tmp_path / "out") == 0
    ours, theirs = (Text.load(directory) for directory in (tmp_path / "out" / "target", speaking_pair[0]))
    messages = [{"role": "user", "content": "hé"}]
    assert ours.encode_chat(messages) == theirs.encode_chat(messages)


def test_a_tied_head_is_stored_once(tmp_path):
    tensors = published_names(random_tensors(TIED))
    write(tmp_path / "source", TIED, tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].copy()})
    assert main(["--target", str(tmp_path / "source"), "--out", str(tmp_path / "out")]) == 0
    assert "embedder.head_VD" not in checkpoint.open_target(tmp_path / "out" / "target").source.shapes


# --- where DST may be ---


@pytest.mark.parametrize("out", ["out", "./out", "a/b/out", "with space/out", "out/", "../here/out", "~/out"])
def test_any_way_to_write_the_path_is_fine(out, pair, tmp_path, monkeypatch, capsys):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(here))
    assert convert(pair, out) == 0
    monkeypatch.chdir(tmp_path)
    written = Path("here") / out.removeprefix("../here/").removeprefix("~/")
    assert bits(written / "draft") == bits(pair[1])
    assert main(["--inspect", f"{written / 'draft'}/"]) == 0


def test_an_existing_directory_is_refused_without_force(pair, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    assert convert(pair, out) == 2
    assert f"{out}: exists already, expected a new directory (or --force to replace it)" in one_line(capsys)
    assert contents(tmp_path) == {"out/mine.txt": b"kept"}


def test_force_replaces_the_whole_directory(pair, other_pair, tmp_path):
    out = tmp_path / "out"
    assert convert(pair, out) == 0
    (out / "draft" / "stray.txt").write_text("old")
    assert main(["--target", str(other_pair[0]), "--out", str(out), "--force"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in out.iterdir()] == ["target"]
    assert bits(out / "target") == bits(other_pair[0])


@pytest.mark.parametrize("out", ["", "target"])
def test_a_directory_that_holds_the_source_is_never_replaced(out, tmp_path, capsys):
    pair = write_random_pair(tmp_path / "models", SMALL_TARGET, SMALL_DRAFT)
    before = contents(tmp_path)
    assert convert(pair, tmp_path / "models" / out, "--force") == 2
    assert "holds the source" in one_line(capsys)
    assert contents(tmp_path) == before


def test_a_destination_below_a_file_is_refused(pair, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert convert(pair, tmp_path / "file" / "out") == 2
    assert f"{tmp_path / 'file'}: cannot be written" in one_line(capsys)


# --- failures half-way ---


@pytest.fixture
def failing(monkeypatch) -> Callable[[int], None]:
    """Makes the given read of a tensor, counted from now, the last one before an error."""

    def fail_after(count: int) -> None:
        read, names = SafetensorsDirectory.read, []

        def limited(self, name):
            if len(names) == count:
                raise OSError("the disk is gone")
            names.append(name)
            return read(self, name)

        monkeypatch.setattr(SafetensorsDirectory, "read", limited)

    monkeypatch.setattr(orbax_store, "PIECE_BYTES", 1)  # so that arrays are on disk when it fails
    return fail_after


@pytest.mark.parametrize("count", [0, 9, 30])
def test_a_failure_leaves_nothing_behind(count, failing, pair, tmp_path, capsys):
    failing(count)
    assert convert(pair, tmp_path / "out") == 1
    assert "the disk is gone" in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("count", [9, 30])
def test_a_failure_keeps_the_old_directory(count, failing, converted, other_pair, tmp_path):
    out = shutil.copytree(converted, tmp_path / "out")
    failing(count)
    assert convert(other_pair, out, "--force") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert contents(out) == contents(converted)


def test_a_rename_that_fails_puts_the_old_directory_back(converted, other_pair, tmp_path, monkeypatch):
    out, rename = shutil.copytree(converted, tmp_path / "out"), Path.rename

    def fail_once(self, to):
        if self.name.startswith(".out.") and Path(to) == out:
            raise OSError("no")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fail_once)
    assert convert(other_pair, out, "--force") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert contents(out) == contents(converted)


def test_after_a_failure_the_next_run_succeeds(failing, pair, tmp_path, monkeypatch):
    failing(9)
    assert convert(pair, tmp_path / "out") == 1
    monkeypatch.undo()
    assert convert(pair, tmp_path / "out", "--verify") == 0


def test_an_unfinished_store_is_refused(converted, tmp_path):
    unfinished = shutil.copytree(converted / "target", tmp_path / "target")
    (unfinished / "checkpoint.json").unlink()
    assert f"{unfinished / 'checkpoint.json'}: the file is missing" in refusal(unfinished)


@pytest.mark.parametrize("damage", ["missing", "truncated", "longer"])
def test_every_damaged_file_of_a_store_is_refused_by_name_and_size(damage, converted, tmp_path):
    for name in contents(converted / "target" / "arrays"):
        store = shutil.copytree(converted / "target", tmp_path / "target", dirs_exist_ok=True)
        file = store / "arrays" / name
        content = file.read_bytes()
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(content[:-1] if damage == "truncated" and content else content + b"x")
        text = refusal(store)
        assert str(file) in text
        assert f"expected {len(content)} bytes" in text


def test_every_flipped_byte_of_a_store_is_refused(converted, tmp_path):
    """Same sizes, so that only checksums tell; Orbax alone loads many of these."""
    for name, content in contents(converted / "draft" / "arrays").items():
        if not content:
            continue
        store = shutil.copytree(converted / "draft", tmp_path / "draft", dirs_exist_ok=True)
        file, place = store / "arrays" / name, len(content) // 2
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        opened = checkpoint.open_draft(store)
        with pytest.raises(InputError, match="has the checksum") as refused:
            checkpoint.load(opened, jnp.float32)
        assert str(file) in str(refused.value)
        file.write_bytes(content)


MALFORMED = [json.dumps(dict(format=2) | more) for more in (
    {}, dict(files={}, tensors={}), dict(files=[], tensors={}), dict(files={}, tensors={"norm_D": {}}), dict(files={"a": None}, tensors={}),
    dict(files={}, tensors={"norm_D": dict(shape=[32], dtype="float23")}),
)]  # fmt: skip


@pytest.mark.parametrize("manifest", ["", "{", "[]", "{}", '{"format": 1}', *MALFORMED])
def test_a_damaged_manifest_is_refused(manifest, converted, tmp_path):
    store = shutil.copytree(converted / "draft", tmp_path / "draft")
    (store / "checkpoint.json").write_text(manifest)
    assert str(store) in refusal(store)


def test_a_store_under_another_config_is_refused(converted, tmp_path):
    store = shutil.copytree(converted / "draft", tmp_path / "draft")
    (store / "config.json").write_text(json.dumps(DFLASH))
    assert "4 unexpected: head.input_3RD" in refusal(store)
    (store / "config.json").write_text(json.dumps(SMALL_DRAFT | dict(intermediate_size=50)))
    assert "misshapen: backbone.layers.0.down_FD is [48, 32], expected [50, 32]" in refusal(store)


# --- sources that do not convert ---


@pytest.mark.parametrize("options", [["--target", "DRAFT"], ["--draft", "TARGET"], ["--target", "TARGET", "--draft", "TARGET"]])
def test_a_source_in_the_wrong_place_is_refused_and_nothing_written(options, pair, tmp_path, capsys):
    places = dict(TARGET=str(pair[0]), DRAFT=str(pair[1]))
    assert main([*(places.get(word, word) for word in options), "--out", str(tmp_path / "out")]) == 2
    assert "expected" in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("beside", "words"), [([], "holds no *.safetensors file, expected"), (["model.bin"], "file but model.bin, expected")]
)
def test_a_source_without_weights_is_refused_and_nothing_written(beside, words, tmp_path, capsys):
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(SMALL_DRAFT))
    for name in beside:
        (source / name).write_bytes(b"weights")
    assert main(["--draft", str(source), "--out", str(tmp_path / "out")]) == 2
    assert words in one_line(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_pair_that_does_not_fit_is_refused(pair, tmp_path, capsys):
    other = write(tmp_path / "draft", draft_config(hidden_size=16), random_tensors(draft_config(hidden_size=16)))
    assert convert((pair[0], other), tmp_path / "out") == 2
    text = one_line(capsys)
    assert "hidden_size is 16, expected 32" in text
    assert "num_target_layers is 4, expected 2" in text


@pytest.fixture
def sharing_draft(pair, tmp_path) -> Path:
    """A drafter that ships the target's embedding."""
    embedding = random_tensors(SMALL_TARGET)["embed_tokens.weight"]
    return write(tmp_path / "sharing", SMALL_DRAFT, random_tensors(SMALL_DRAFT) | {"embed_tokens.weight": embedding})


def test_a_shared_embedding_is_compared_and_left_out(sharing_draft, pair, tmp_path, capsys):
    assert convert((pair[0], sharing_draft), tmp_path / "out") == 0
    assert "note: embed_tokens.weight is not loaded" in capsys.readouterr().err
    assert not any("embed" in name for name in checkpoint.open_draft(tmp_path / "out" / "draft").source.shapes)


def test_a_shared_embedding_needs_its_target(sharing_draft, tmp_path, capsys):
    assert main(["--draft", str(sharing_draft), "--out", str(tmp_path / "out")]) == 2
    assert "embed_tokens.weight, expected also --target" in one_line(capsys)


def test_another_embedding_is_refused(sharing_draft, other_pair, tmp_path, capsys):
    assert convert((other_pair[0], sharing_draft), tmp_path / "out") == 2
    assert "embed_tokens.weight differs from the target's" in one_line(capsys)


# --- the command line ---


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "--target and --draft are missing, expected at least one"),
        (["--force"], "--target and --draft are missing"),
        (["--out", "x"], "--target and --draft are missing"),
        (["--target", "x"], "--out is missing"),
        *[
            (["--inspect", "x", *more], "--inspect is given with options of a conversion, expected it alone")
            for more in (
                ["--target", "x"],
                ["--draft", "x"],
                ["--out", "x"],
                ["--dtype", "float32"],
                ["--force"],
                ["--verify"],
                ["--to", "hf"],
            )
        ],
        (["--target", "x", "--out", "y", "--dtype", "float16"], "float16"),
        (["--targte", "x"], "the nearest is --target"),
        (["--tar", "x", "--out", "y"], "unknown argument --tar"),
        (["--target", "no/such/place", "--out", "y"], "no/such/place: no such directory"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_in_one_line(argv, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    assert words in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", ["safetensors", "orbax"])
@pytest.mark.parametrize(("index", "kind"), [(0, "target"), (1, "domino")])
def test_inspect_says_what_a_checkpoint_is(layout, index, kind, pair, converted, capsys):
    directory = pair[index] if layout == "safetensors" else converted / ("target", "draft")[index]
    assert main(["--inspect", str(directory)]) == 0
    printed, err = capsys.readouterr()
    source = checkpoint.open_any(directory).source
    count = sum(int(np.prod(shape)) for shape in source.shapes.values())
    assert err == ""
    for line in (
        f"directory   {directory}",
        f"format      {layout}",
        f"kind        {kind}",
        f"parameters  {count:,} in {len(source.shapes)} tensors, {4 * count:,} bytes",
        f"dtype       float32 ({len(source.shapes)} tensors)",
        "config      hidden_size = 32",
        *(f"  {name}  float32 {list(shape)}" for name, shape in source.shapes.items()),
    ):
        assert f"{line}\n" in printed
    assert printed.endswith("it loads\n")


def test_inspect_names_tokenizer_stop_ids_and_what_is_ignored(speaking_pair, tmp_path, capsys):
    target = shutil.copytree(speaking_pair[0], tmp_path / "target")
    tensors = SafetensorsDirectory(target)
    more = {f"model.{name}": tensors.read(name) for name in tensors.tensors if name != "lm_head.weight"}
    more |= {"lm_head.weight": tensors.read("lm_head.weight"), "model.rotary_emb.inv_freq": np.ones(4, np.float32)}
    write(target, json.loads((target / "config.json").read_text()), more)
    assert main(["--inspect", str(target)]) == 0
    printed = capsys.readouterr().out
    assert "ignored     rotary_emb.inv_freq" in printed
    assert "stop ids    [258]" in printed
    assert "tokenizer   none" not in printed


def test_inspect_of_what_would_not_load_names_what_is_missing(tmp_path, capsys):
    tensors = random_tensors(SMALL_DRAFT)
    for name in HEAD_TENSORS:
        del tensors[name]
    write(tmp_path, SMALL_DRAFT, tensors)
    assert main(["--inspect", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "it loads" not in out
    assert f"4 missing: {', '.join(sorted(HEAD_TENSORS))}" in err
    assert err.count("\n") == 1


def test_inspect_writes_nothing(pair, capsys):
    before = contents(pair[0])
    assert main(["--inspect", str(pair[0])]) == 0
    assert contents(pair[0]) == before
