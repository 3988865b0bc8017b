import json

from workbench.core.config import Choice, GraphRef, RunConfig

GRAPH = GraphRef(
    folder="graphs/a", name="karate", fingerprint="ab", num_nodes=34, num_edges=156, num_features=34, num_classes=4
)


def test_a_configuration_survives_json():
    config = RunConfig(
        graph=GRAPH,
        model=Choice(name="sage", params={"hidden_channels": 8}),
        strategy=Choice(name="mini_batch", params={"batch_size": 4}),
        update=Choice(name="all_reduce"),
        task=Choice(name="node_classification"),
        epochs=3,
        trainers=2,
        samplers=1,
    )
    again = RunConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert again == config
