from __future__ import annotations

import numpy as np
import pytest

from siltstone.models.onnx_graph import Graph, tensor

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


def test_graph_runs_in_onnxruntime() -> None:
    """Constants, attributes of each type, several outputs, free sizes and negative numbers arrive as written."""
    graph = Graph()
    graph.constant("offset", np.array([[1, -2, 300, 4]], np.float32))
    moved = graph.node("Add", ["x", "offset"], "moved")
    left = graph.node("Split", [moved], "left", also=["right"], axis=-1)
    turned = graph.node("Transpose", [left], "turned", perm=[1, 0])
    graph.node("LeakyRelu", ["right"], "bent", alpha=0.5)
    graph.constant("shape", np.array([-1], np.int64))
    graph.node("Reshape", [turned, "shape"], "flat")
    graph.node("ms.Gelu", ["bent"], "smooth")
    model = graph.model([tensor("x", ["n", 4])], [tensor("flat", ["m"]), tensor("smooth", ["n", 2])])
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    flat, smooth = session.run(None, {"x": np.array([[1, 1, 1, 1], [0, 0, -1000, 0]], np.float32)})
    assert flat.tolist() == [2, 1, -1, -2]
    assert smooth == pytest.approx(np.array([[301, 5], [0, 4]], np.float32), abs=0.01)


def test_graph_is_valid_onnx() -> None:
    """The reference checker of the ONNX project accepts what is written."""
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    graph = Graph()
    graph.constant("weights", np.ones((3, 100), np.int8))
    graph.node("Cast", ["weights"], "floats", to=1)
    graph.node("MatMul", ["x", "floats"], "y")
    model = onnx.load_from_string(graph.model([tensor("x", ["n", 3])], [tensor("y", ["n", 100])]))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Cast", "MatMul"]
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).sum() == 300
