import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionErrorText } from "../../src/base/index.ts";

const textOf = (code: string) => connectionErrorText(Object.assign(new Error("x"), { code }));

test("codes of TLS and HTTP say what to try", () => {
  for (const code of ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]) {
    assert.match(textOf(code) ?? "", /does not speak TLS.*`http:\/\/`/);
  }
  assert.match(textOf("HPE_INVALID_CONSTANT") ?? "", /`https:\/\/`/);
  for (const code of [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  ]) {
    assert.match(textOf(code) ?? "", new RegExp(`not trusted: ${code}; .*NODE_EXTRA_CA_CERTS`));
  }
  assert.equal(textOf("CERT_HAS_EXPIRED"), "its certificate has expired");
  assert.equal(textOf("ERR_TLS_CERT_ALTNAME_INVALID"), "its certificate is for another name");
});

test("an unknown code is shown, and an error without one has no text", () => {
  assert.equal(textOf("EODD"), "EODD");
  assert.equal(connectionErrorText(new Error("x")), undefined);
  assert.equal(connectionErrorText(undefined), undefined);
});
