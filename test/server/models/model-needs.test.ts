import assert from "node:assert/strict";
import test from "node:test";
import { modelNeeds } from "../../../src/server/models/index.ts";

const model = (name: string) => ({ name, files: [] });
const server = { endpoint: "http://127.0.0.1:8000", model: "m", timeout: "30s" };

type Document = Parameters<typeof modelNeeds>[0];
type Detectors = NonNullable<Document["guardrails"]>["detectors"];

const needsOf = (detectors: readonly object[]) =>
  modelNeeds({
    models: { models: ["names", "attacks", "spare"].map(model) },
    guardrails: { detectors: detectors as Detectors } as NonNullable<Document["guardrails"]>,
  }).map((need) => [need.model.name, need.parts]);

test("only models that a detector uses are needed, each once, in the order of use", () => {
  assert.deepEqual(
    needsOf([
      { type: "pii" },
      { type: "classify", classify: { ref: "attacks" } },
      { type: "nlp", nlp: { ref: "names" } },
      { type: "embed", embed: { ref: "attacks" } },
      { type: "nlp", nlp: { model: "/models/own.onnx", tokenizer: "/models/tokenizer.json" } },
    ]),
    [
      ["attacks", "whole"],
      ["names", "whole"],
    ],
  );
  assert.deepEqual(modelNeeds({}), []);
});

test("a model whose graph runs only on servers is needed without it", () => {
  const remote = { type: "nlp", nlp: { ref: "names", remote: server } };
  const local = { type: "nlp", nlp: { ref: "names" } };
  assert.deepEqual(needsOf([remote]), [["names", "text"]]);
  assert.deepEqual(needsOf([remote, local]), [["names", "whole"]]);
  assert.deepEqual(needsOf([local, remote]), [["names", "whole"]]);
});
