"""Architecture declarations: which signatures suit, what features they have, how many parameters."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from pydantic import ValidationError

from pdual.dsl.declarations.architecture import Architecture
from pdual.dsl.declarations.architecture_cnn import CNN, CnnSettings
from pdual.dsl.declarations.architecture_gnn import GNN, GnnSettings
from pdual.dsl.declarations.architecture_plain import (
    FREE,
    LINEAR,
    MLP,
    ROWS,
    FreeSettings,
    LinearSettings,
    MlpSettings,
)
from pdual.dsl.declarations.architecture_preconditioned import PRECONDITIONED, PreconditionedSettings
from pdual.dsl.declarations.references import ArchitectureUse, GivenField, GivenReference, Settings
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import (
    REAL,
    TEXT,
    ArrayType,
    FixedAxis,
    GraphType,
    Kind,
    MemberFeatures,
    MemberOf,
    OpenAxis,
    RaggedAxis,
    SetAxis,
)
from pdual.packs.language.declarations.architecture import CAUSAL_LM, LOGIT_GAP, LOGITS, LOGPROBS, CausalLmSettings
from pdual.packs.power.declarations.architecture import (
    POWER_COMPLETED,
    PowerCompletedSettings,
    proposal_signature,
)
from pdual.packs.workflows.declarations.architecture import GRAPH_PAIR, GraphPairSettings

SIZES = {"bus": 30, "gen": 6, "branch": 41, "class": 10, "dim": 384}


def real(*axes: str | int) -> ArrayType:
    return ArrayType(Kind.REAL, tuple(SetAxis(a) if isinstance(a, str) else FixedAxis(a) for a in axes))


def complex_on(name: str) -> ArrayType:
    return ArrayType(Kind.COMPLEX, (SetAxis(name),))


def signature(
    inputs: dict[str, ArrayType | GraphType], *outputs: ArrayType, names: tuple[str, ...] = ("",)
) -> Signature:
    return Signature(
        tuple(inputs.items()), tuple(Output(name, kind) for name, kind in zip(names, outputs, strict=True))
    )


def map_to(target: str, domain: str, field: str = "map") -> GivenField:
    return GivenField("grid", field, ArrayType(MemberOf(target), (SetAxis(domain),)))


def subjects(architecture: Architecture, given: Signature, settings: Settings) -> list[str]:
    return [complaint.subject for complaint in architecture.complaints(given, settings)]


EDGES = (map_to("bus", "branch", "source"), map_to("bus", "branch", "target"))
GRID_GNN = GnnSettings(edges=EDGES, at=map_to("bus", "gen", "at"))
DISPATCH = signature({"load": complex_on("bus")}, complex_on("bus"), complex_on("gen"), names=("v", "s"))
IMAGE = real(1, 28, 28)
WORKFLOW = GraphType((("node", real("dim")),))


class TestPlain:
    def test_mlp_counts_complex_twice_and_members_one_hot(self) -> None:
        given = signature({"load": complex_on("bus"), "label": ArrayType(MemberOf("class"))}, complex_on("gen"))
        settings = MlpSettings(hidden=(16, 8))
        assert MLP.parameters(given, settings, SIZES) == (70 * 16 + 16) + (16 * 8 + 8) + (8 * 12 + 12)
        assert MLP.features(given, settings, SIZES) == real(8)

    def test_an_open_input_has_no_count_yet(self) -> None:
        given = signature({"x": ArrayType(Kind.REAL, (OpenAxis(),))}, REAL)
        assert not subjects(MLP, given, MlpSettings(hidden=(4,)))
        assert MLP.parameters(given, MlpSettings(hidden=(4,)), SIZES) is None

    def test_a_set_of_unknown_size_has_no_count_yet(self) -> None:
        settings = MlpSettings(hidden=(4,))
        assert MLP.parameters(signature({"x": real("row")}, REAL), settings, SIZES) is None
        assert MLP.parameters(signature({"x": REAL}, real("row")), settings, SIZES) is None
        assert MLP.parameters(signature({"x": ArrayType(MemberOf("row"))}, REAL), settings, SIZES) is None

    @pytest.mark.parametrize("kind", [WORKFLOW, TEXT, ArrayType(Kind.ID), ArrayType(Kind.REAL, (RaggedAxis("t"),))])
    def test_mlp_refuses_what_is_no_fixed_array_of_numbers(self, kind: ArrayType | GraphType) -> None:
        assert subjects(MLP, signature({"x": kind}, REAL), MlpSettings(hidden=(4,))) == ["x"]

    @pytest.mark.parametrize("kind", [REAL, ArrayType(Kind.BOOL, (FixedAxis(3),)), ArrayType(Kind.INT), IMAGE])
    def test_mlp_takes_numbers_of_every_kind(self, kind: ArrayType) -> None:
        assert subjects(MLP, signature({"x": kind}, real("class")), MlpSettings(hidden=(4,))) == []

    @pytest.mark.parametrize("architecture", [MLP, LINEAR, FREE])
    @pytest.mark.parametrize("kind", [ArrayType(Kind.BOOL), ArrayType(MemberOf("class")), TEXT])
    def test_outputs_are_real_or_complex(self, architecture: Architecture, kind: ArrayType) -> None:
        settings = MlpSettings(hidden=(4,)) if architecture is MLP else architecture.settings()
        assert subjects(architecture, signature({"x": REAL}, kind), settings) == ["output"]

    def test_linear_has_no_features(self) -> None:
        given = signature({"x": real(5)}, real(3))
        assert LINEAR.parameters(given, LinearSettings(), SIZES) == 18
        assert LINEAR.parameters(given, LinearSettings(bias=False), SIZES) == 15
        assert LINEAR.features(given, LinearSettings(), SIZES) is None

    def test_free_counts_rows_and_ignores_inputs(self) -> None:
        given = signature({"workflow": WORKFLOW}, real(3), complex_on("gen"), names=("a", "b"))
        assert subjects(FREE, given, FreeSettings()) == []
        assert FREE.parameters(given, FreeSettings(), SIZES) is None
        assert FREE.parameters(given, FreeSettings(), {**SIZES, ROWS: 7}) == 7 * (3 + 12)

    def test_an_mlp_without_hidden_layers_has_no_features(self) -> None:
        given = signature({"x": real(5)}, real(3))
        assert MLP.features(given, MlpSettings(hidden=()), SIZES) is None
        assert MLP.parameters(given, MlpSettings(hidden=()), SIZES) == 18

    def test_layers_have_at_least_one_unit(self) -> None:
        with pytest.raises(ValidationError):
            MlpSettings(hidden=(8, 0))


class TestCnn:
    SETTINGS = CnnSettings(channels=(64, 64), kernel=3, hidden=(32,))

    def test_the_mnist_network_has_138282_parameters(self) -> None:
        given = signature({"image": IMAGE}, real("class"))
        assert CNN.parameters(given, self.SETTINGS, SIZES) == 138_282
        assert CNN.features(given, self.SETTINGS, SIZES) == real(32)

    def test_features_without_hidden_layers_are_the_last_pooling(self) -> None:
        given = signature({"image": IMAGE}, real("class"))
        assert CNN.features(given, CnnSettings(channels=(5,)), SIZES) == real(5 * 14 * 14)

    @pytest.mark.parametrize(
        ("inputs", "expected"),
        [
            ({"image": IMAGE, "other": IMAGE}, ["inputs"]),
            ({"image": real(28, 28)}, ["image"]),
            ({"image": ArrayType(Kind.COMPLEX, IMAGE.axes)}, ["image"]),
            ({"image": WORKFLOW}, ["image"]),
            ({"image": real(1, 3, 28)}, ["image"]),
            ({"image": real(1, 4, 4)}, []),
        ],
    )
    def test_it_takes_one_image_large_enough(self, inputs: dict[str, ArrayType], expected: list[str]) -> None:
        assert subjects(CNN, signature(dict(inputs), real("class")), self.SETTINGS) == expected

    def test_an_even_kernel_is_refused(self) -> None:
        given = signature({"image": IMAGE}, real("class"))
        assert subjects(CNN, given, CnnSettings(channels=(4,), kernel=4)) == ["kernel"]
        assert subjects(CNN, given, CnnSettings(channels=(4,), kernel=5)) == []


class TestGnn:
    def test_features_are_per_member(self) -> None:
        assert subjects(GNN, DISPATCH, GRID_GNN) == []
        assert GNN.features(DISPATCH, GRID_GNN, SIZES) == MemberFeatures((("bus", 32), ("gen", 32), ("branch", 64)))

    def test_without_an_attached_set_there_are_two(self) -> None:
        settings = GnnSettings(edges=EDGES, width=8)
        given = signature({"load": real("bus")}, real("bus"))
        assert GNN.features(given, settings, SIZES) == MemberFeatures((("bus", 8), ("branch", 16)))

    def test_an_unknown_size_has_no_count_yet(self) -> None:
        assert GNN.parameters(DISPATCH, GRID_GNN, {"bus": 30, "branch": 41}) is None
        assert GNN.parameters(DISPATCH, GRID_GNN, {"gen": 6, "branch": 41}) is None

    @pytest.mark.parametrize(
        ("inputs", "output", "expected"),
        [
            ({"x": real("bus"), "p": real("gen"), "hour": REAL}, REAL, []),
            ({"x": real("bus", 3)}, real("branch"), []),
            ({"x": real("branch")}, real("bus"), ["x", "inputs"]),
            ({"x": real("class")}, real("bus"), ["x", "inputs"]),
            ({"x": real("bus"), "y": real("bus", "gen")}, real("bus"), ["y"]),
            ({"x": real("bus"), "y": WORKFLOW}, real("bus"), ["y"]),
            ({"x": real("bus")}, real("class"), ["output"]),
            ({"x": real("bus")}, ArrayType(Kind.BOOL, (SetAxis("bus"),)), ["output"]),
            ({"hour": REAL}, real("bus"), ["inputs"]),
        ],
    )
    def test_values_stand_on_known_sets(
        self, inputs: dict[str, ArrayType], output: ArrayType, expected: list[str]
    ) -> None:
        assert subjects(GNN, signature(dict(inputs), output), GRID_GNN) == expected

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            (GnnSettings(edges=(EDGES[0], map_to("gen", "branch"))), ["edges"]),
            (GnnSettings(edges=(EDGES[0], GivenField("grid", "rate", real("branch")))), ["edges"]),
            (GnnSettings(edges=EDGES, at=map_to("branch", "gen")), ["at"]),
            (GnnSettings(edges=EDGES, at=GivenField("grid", "c0", real("gen"))), ["at"]),
        ],
    )
    def test_maps_fit_together(self, settings: GnnSettings, expected: list[str]) -> None:
        assert subjects(GNN, signature({"x": real("bus")}, real("bus")), settings) == expected


class TestPower:
    SETTINGS = PowerCompletedSettings(grid=GivenReference("grid"), proposer=ArchitectureUse("gnn", GRID_GNN))

    def test_features_and_count_are_the_proposers(self) -> None:
        asked = proposal_signature(DISPATCH)
        assert asked.outputs == (Output("p", real("gen")), Output("v", real("gen")))
        assert POWER_COMPLETED.features(DISPATCH, self.SETTINGS, SIZES) == GNN.features(asked, GRID_GNN, SIZES)
        assert POWER_COMPLETED.parameters(DISPATCH, self.SETTINGS, SIZES) == GNN.parameters(asked, GRID_GNN, SIZES)

    def test_names_and_order_are_free(self) -> None:
        renamed = signature(
            {"demand": complex_on("bus")}, complex_on("gen"), complex_on("bus"), names=("power", "voltage")
        )
        assert subjects(POWER_COMPLETED, renamed, self.SETTINGS) == []

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (replace(DISPATCH, inputs=(*DISPATCH.inputs, ("hour", REAL))), ["inputs"]),
            (replace(DISPATCH, inputs=(("load", real("bus")),)), ["load"]),
            (replace(DISPATCH, outputs=DISPATCH.outputs[:1]), ["outputs"]),
            (replace(DISPATCH, outputs=(DISPATCH.outputs[0], Output("s", real("gen")))), ["outputs"]),
            (
                replace(DISPATCH, outputs=(Output("v", complex_on("bus"), 0.9, 1.1), DISPATCH.outputs[1])),
                ["v"],
            ),
        ],
    )
    def test_other_signatures_are_refused(self, given: Signature, expected: list[str]) -> None:
        assert subjects(POWER_COMPLETED, given, self.SETTINGS) == expected

    def test_the_proposer_complains_too(self) -> None:
        elsewhere = (map_to("node", "line"), map_to("node", "line"))
        proposer = ArchitectureUse("gnn", GnnSettings(edges=elsewhere))
        settings = PowerCompletedSettings(grid=GivenReference("grid"), proposer=proposer)
        assert subjects(POWER_COMPLETED, DISPATCH, settings) == ["load", "p", "v", "inputs"]


class TestPreconditioned:
    SETTINGS = PreconditionedSettings(proposer=ArchitectureUse("mlp", MlpSettings(hidden=(8,))), start=(1.0, 0.0))

    def test_features_and_count_are_the_proposers(self) -> None:
        assert subjects(PRECONDITIONED, DISPATCH, self.SETTINGS) == []
        own = self.SETTINGS.proposer.settings
        assert PRECONDITIONED.features(DISPATCH, self.SETTINGS, SIZES) == MLP.features(DISPATCH, own, SIZES)
        assert PRECONDITIONED.parameters(DISPATCH, self.SETTINGS, SIZES) == MLP.parameters(DISPATCH, own, SIZES)

    @pytest.mark.parametrize(
        ("given", "settings", "expected"),
        [
            (DISPATCH, SETTINGS.model_copy(update={"start": (0.5,)}), []),
            (DISPATCH, SETTINGS.model_copy(update={"start": (1.0, 0.0, 0.0)}), ["start"]),
            (replace(DISPATCH, outputs=(Output("v", real("bus"), 0.9, None), DISPATCH.outputs[1])), SETTINGS, ["v"]),
        ],
    )
    def test_what_is_refused(self, given: Signature, settings: Settings, expected: list[str]) -> None:
        assert subjects(PRECONDITIONED, given, settings) == expected

    def test_the_proposer_complains_too(self) -> None:
        elsewhere = ArchitectureUse("gnn", GnnSettings(edges=(map_to("node", "line"), map_to("node", "line"))))
        settings = PreconditionedSettings(proposer=elsewhere)
        assert "inputs" in subjects(PRECONDITIONED, DISPATCH, settings)


class TestLanguage:
    LM = Signature(
        (("prompt", TEXT), ("answer", TEXT)),
        (Output("logprob", ArrayType(Kind.REAL, (RaggedAxis("token"),))),),
    )
    GAP = replace(LM.outputs[0], name=LOGIT_GAP)
    WORDS = Output(LOGPROBS, ArrayType(Kind.REAL, (RaggedAxis("token"), SetAxis("word"))))
    PAIR = signature({"workflow": WORKFLOW, "question": real("dim")}, REAL)

    def test_a_language_model_has_features_for_every_token(self) -> None:
        settings = CausalLmSettings(base="some/model")
        assert subjects(CAUSAL_LM, self.LM, settings) == []
        found = CAUSAL_LM.features(self.LM, settings, SIZES)
        assert found == ArrayType(Kind.REAL, (RaggedAxis("token"), OpenAxis()))
        assert CAUSAL_LM.parameters(self.LM, settings, SIZES) is None

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (replace(LM, inputs=LM.inputs[:1]), ["inputs"]),
            (replace(LM, inputs=(("prompt", REAL), ("answer", TEXT))), ["prompt"]),
            (replace(LM, outputs=(Output("logprob", REAL),)), ["logprob"]),
            (replace(LM, outputs=(replace(LM.outputs[0], high=0.0),)), ["logprob"]),
            (replace(LM, outputs=()), ["outputs"]),
            (replace(LM, outputs=(LM.outputs[0], replace(LM.outputs[0], name="other"))), ["outputs"]),
            (replace(LM, outputs=(LM.outputs[0], GAP)), []),
            (replace(LM, outputs=(GAP,)), []),
            (replace(LM, outputs=(LM.outputs[0], WORDS, replace(WORDS, name=LOGITS), GAP)), []),
            (replace(LM, outputs=(WORDS,)), []),
            (replace(LM, outputs=(replace(WORDS, name="any"),)), ["any"]),
            (replace(LM, outputs=(replace(LM.outputs[0], name=LOGITS),)), [LOGITS]),
            (
                replace(LM, outputs=(replace(WORDS, type=ArrayType(Kind.REAL, (RaggedAxis("t"), OpenAxis()))),)),
                [LOGPROBS],
            ),
            (replace(LM, outputs=(replace(WORDS, high=0.0),)), [LOGPROBS]),
            (
                replace(LM, outputs=(LM.outputs[0], replace(GAP, type=ArrayType(Kind.REAL, (RaggedAxis("k"),))))),
                ["outputs"],
            ),
        ],
    )
    def test_other_signatures_of_a_language_model(self, given: Signature, expected: list[str]) -> None:
        assert subjects(CAUSAL_LM, given, CausalLmSettings(base="some/model")) == expected

    def test_half_precision_is_for_weights_under_an_adapter(self) -> None:
        assert subjects(CAUSAL_LM, self.LM, CausalLmSettings(base="b", half=True)) == ["half"]
        assert subjects(CAUSAL_LM, self.LM, CausalLmSettings(base="b", half=True, lora=4)) == []

    def test_the_flora_network_has_26755073_parameters(self) -> None:
        assert subjects(GRAPH_PAIR, self.PAIR, GraphPairSettings()) == []
        assert GRAPH_PAIR.parameters(self.PAIR, GraphPairSettings(), SIZES) == 26_755_073
        assert GRAPH_PAIR.features(self.PAIR, GraphPairSettings(), SIZES) == real(2048)

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (signature({"question": real("dim")}, REAL), ["inputs"]),
            (signature({"a": WORKFLOW, "q": complex_on("dim")}, REAL), ["q"]),
            (signature({"a": GraphType((("node", REAL),)), "q": real("dim")}, REAL), ["a"]),
            (signature({"a": WORKFLOW, "q": real("dim")}, real("class")), ["output"]),
        ],
    )
    def test_other_signatures_of_a_pair(self, given: Signature, expected: list[str]) -> None:
        assert subjects(GRAPH_PAIR, given, GraphPairSettings()) == expected


def test_every_shipped_architecture_has_its_own_name_and_positional_settings() -> None:
    shipped = architectures()
    assert len(shipped) == 9
    assert [item.name for item in shipped.values()] == list(shipped)
    for item in shipped.values():
        assert set(item.positional) <= set(item.settings.model_fields)


def test_declarations_import_no_heavy_library() -> None:
    code = (
        "import sys; from pdual.dsl.declarations.registry import architectures, sources; "
        "declared = [*architectures().values(), *sources().values()]; "
        "print(sorted({'torch', 'numpy', 'sympy', 'networkx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
