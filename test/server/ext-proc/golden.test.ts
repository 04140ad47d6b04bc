/**
 * The bytes on the wire, compared with those of an independent implementation. Source: ext-proc reference, 0.5, B.3.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadExtProc, nestedText, type ProcessingRequest, toStruct } from "../../../src/server/ext-proc/index.ts";

const { ExternalProcessor } = await loadExtProc();
const { requestSerialize, responseDeserialize, responseSerialize } = ExternalProcessor.service.Process;
const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

const REQUESTS: readonly (readonly [what: string, request: ProcessingRequest, hex: string])[] = [
  [
    "headers and the mode of bodies",
    {
      request_headers: { headers: { headers: [{ key: ":path", raw_value: Buffer.from("/v1") }] } },
      protocol_config: { request_body_mode: 4 },
    },
    "12100a0e0a0c0a053a706174681a032f7631 5a020804",
  ],
  ["the end of a body", { request_body: { body: Buffer.from("hi"), end_of_stream: true } }, "22060a0268691001"],
  [
    "a subset",
    {
      request_headers: { headers: { headers: [{ key: ":method", raw_value: Buffer.from("POST") }] } },
      metadata_context: {
        filter_metadata: {
          "envoy.lb.subset_hint": toStruct({ "x-gateway-destination-endpoint-subset": ["10.0.0.7:8000"] }),
        },
      },
    },
    "12130a110a0f0a073a6d6574686f641a04504f5354 42580a560a14656e766f792e6c622e7375627365745f68696e74123e0a3c0a25782d676174657761792d64657374696e6174696f6e2d656e64706f696e742d737562736574121332110a0f1a0d31302e302e302e373a38303030",
  ],
];

for (const [what, request, hex] of REQUESTS) {
  test(`a request is encoded: ${what}`, () =>
    assert.equal(requestSerialize(request).toString("hex"), hex.replaceAll(" ", "")));
}

test("a pick is read from header and metadata", () => {
  const picked = responseDeserialize(
    bytes(
      "0a390a3712330a310a2f0a1e782d676174657761792d64657374696e6174696f6e2d656e64706f696e741a0d31302e302e302e373a383030302801 42430a410a08656e766f792e6c6212352a330a310a1e782d676174657761792d64657374696e6174696f6e2d656e64706f696e74120f1a0d31302e302e302e373a38303030",
    ),
  );
  const [set] = picked.request_headers?.response?.header_mutation?.set_headers ?? [];
  assert.equal(set?.header?.raw_value?.toString(), "10.0.0.7:8000");
  assert.equal(picked.request_headers?.response?.clear_route_cache, true);
  assert.equal(nestedText(picked.dynamic_metadata, "envoy.lb", "x-gateway-destination-endpoint"), "10.0.0.7:8000");
});

test("each answer has its encoded form", () => {
  const answers: readonly (readonly [object, string])[] = [
    [{ request_body: { response: { body_mutation: { clear_body: true } } } }, "1a060a041a021001"],
    [
      {
        request_body: {
          response: { body_mutation: { streamed_response: { body: Buffer.from("hi"), end_of_stream: true } } },
        },
      },
      "1a0c0a0a1a081a060a0268691001",
    ],
    [{ immediate_response: { status: { code: 403 }, body: Buffer.from("no") } }, "3a090a030893031a026e6f"],
  ];
  for (const [answer, hex] of answers) assert.equal(responseSerialize(answer).toString("hex"), hex);
});

test("fields of a later version are skipped", () => {
  assert.equal(responseDeserialize(bytes("60016a00 3a090a030893031a026e6f")).immediate_response?.status?.code, 403);
});
