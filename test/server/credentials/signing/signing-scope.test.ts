/** Signing scope by host name. Source: credentials reference, 1.1; design decisions, section 13. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { signingRegion, signingService } from "../../../../src/server/credentials/signing/signing-scope.ts";

test("a named service wins, then the preset's, then the host's own, and bedrock is the default", () => {
  assert.equal(signingService("own", "bedrock-mantle", "bedrock-mantle.eu-west-1.api.aws"), "own");
  assert.equal(signingService(undefined, "bedrock-mantle", "127.0.0.1"), "bedrock-mantle");
  assert.equal(signingService(undefined, "", "bedrock-mantle.eu-west-1.api.aws"), "bedrock-mantle");
  assert.equal(signingService(undefined, "", "aws-external-anthropic.us-east-1.api.aws"), "aws-external-anthropic");
  assert.equal(signingService(undefined, "", "bedrock-runtime.us-east-1.amazonaws.com"), "bedrock");
  assert.equal(signingService(undefined, "", "models.example.com"), "bedrock");
});

test("a region comes from the provider or from the host, and both must agree", () => {
  const found = (configured: string | undefined, host: string): string => {
    const it = signingRegion(configured, host);
    return it.kind === "region" ? it.region : it.message;
  };
  const table = [
    ["bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"],
    ["bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"],
    ["bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"],
    ["vpce-0a1b-x.bedrock-runtime.eu-central-1.vpce.amazonaws.com", "eu-central-1"],
    ["BEDROCK-MANTLE.ap-southeast-2.api.aws", "ap-southeast-2"],
  ] as const;
  for (const [host, region] of table) {
    assert.equal(found(undefined, host), region);
    assert.equal(found(region, host), region);
    assert.match(found("eu-north-1", host), /`region` is eu-north-1, and the address is of /);
  }
  for (const host of ["127.0.0.1", "models.example.com", "bedrock-runtime.us-east-1.amazonaws.com.evil.example"]) {
    assert.match(found(undefined, host), /set the provider's `region`/);
    assert.equal(found("us-east-1", host), "us-east-1");
  }
});
