import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeFileSchema, readNodeFile } from "../../../../../src/server/core/config/index.ts";
import { lines, references } from "../samples.ts";

const read = (text: string) => readNodeFile({ name: "n", text }, references);

const START = "cluster: {node_id: a, data_dir: /d, bootstrap: true}\n";

const allowedAt = (key: string): string => {
  const { properties } = key === "" ? nodeFileSchema.json : (nodeFileSchema.json["properties"] as never)[key];
  return Object.keys(properties as object).join(", ");
};

test("a single-node cluster is read, started by `bootstrap` or by its only peer", () => {
  const defaults = { listen: ":8484", metrics_listen: ":9464", catalog_overlay_paths: [] };
  const waits = { bootstrap_wait: "5s", rejoin_after: "30s" };
  assert.deepEqual(read(START).document, {
    cluster: { node_id: "a", data_dir: "/d", bootstrap: true, ...waits },
    ...defaults,
  });

  const { document, problems } = read(`
listen: 127.0.0.1:80
metrics_listen: none
deployment: deployment.yaml
catalog_overlay_paths: [overlays/*.yaml]
secrets_dir: /run/secrets
cluster:
  node_id: a
  data_dir: /d
  secret: \${secret:KEY}
  raft_addr: :7000
  forward_addr: ""
  advertise: a.internal:7000
  peers: [{id: a, raft_addr: a.internal:7000}]
`);
  assert.deepEqual(problems, []);
  assert.equal(document?.cluster.peers?.[0]?.id, "a");
  assert.equal(document?.metrics_listen, "none");
});

const BAD: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  "an empty file": ["", ["n:1:1: the node file is empty; it needs at least `cluster`"]],
  "no cluster": ["listen: :1\n", ["n:1:1: the required key `cluster` is missing"]],
  "a cluster without name and directory": [
    "cluster: {bootstrap: true}\n",
    ["n:1:10: cluster: the required key `node_id` is missing"],
  ],
  "a cluster without a directory, which only an inspector may do without": [
    "cluster: {node_id: a, bootstrap: true}\n",
    ["n:1:10: cluster: the required key `data_dir` is missing"],
  ],
  "several nodes without storage": [
    "extproc: {inspect_listen: '127.0.0.1:1'}\ncluster: {node_id: a, secret: \"${secret:KEY}\", peers: [{id: a, raft_addr: 'a:1', forward_addr: 'a:2'}, {id: b, raft_addr: 'b:1', forward_addr: 'b:2'}]}\n",
    ["n:2:10: cluster: needs a `data_dir`: only a node without other members can keep its state in memory"],
  ],
  "an inspector where the data plane listens": [
    `${START}listen: 127.0.0.1:1\nextproc: {inspect_listen: '127.0.0.1:1'}\n`,
    ["n:3:27: extproc.inspect_listen: is the address of `listen` already"],
  ],
  "a node that cannot start": [
    "cluster: {node_id: a, data_dir: /d, bootstrap: false}\n",
    ["n:1:10: cluster: does not say how the node starts; set `bootstrap: true`, `peers` or `join`"],
  ],
  "peers together with bootstrap": [
    "cluster:\n  node_id: a\n  data_dir: /d\n  bootstrap: true\n  peers: [{id: a, raft_addr: 'a:1'}]\n",
    ["n:5:3: cluster.peers: `peers` and `bootstrap` exclude each other; keep one"],
  ],
  "a node that is not among its peers": [
    "cluster: {node_id: a, data_dir: /d, peers: [{id: b, raft_addr: 'a:1'}]}\n",
    ["n:1:20: cluster.node_id: is the `id` of none of the `peers`"],
  ],
  "several peers without required settings": [
    "cluster:\n  node_id: a\n  data_dir: /d\n  peers:\n    - {id: a, raft_addr: 'a:1', forward_addr: 'a:2'}\n    - {id: a, raft_addr: 'a:1'}\n    - {id: b, raft_addr: 'a:2', forward_addr: ':9'}\n",
    [
      "n:2:3: cluster: needs a `secret`, which authenticates members to each other",
      "n:6:7: cluster.peers[1]: needs a `forward_addr`, since there is more than one peer",
      "n:6:12: cluster.peers[1].id: is that of item 0 already",
      "n:6:26: cluster.peers[1].raft_addr: is the `raft_addr` of item 0 already",
      "n:7:26: cluster.peers[2].raft_addr: is the `forward_addr` of item 0 already",
      "n:7:47: cluster.peers[2].forward_addr: names no host that other nodes can connect to",
    ],
  ],
  "more than fifteen peers": [
    `cluster: {node_id: a, data_dir: /d, secret: "\${secret:KEY}", peers: [${"{id: a, raft_addr: 'a:1'},".repeat(16)}]}\n`,
    ["n:1:69: cluster.peers: expected at most 15 items, found 16"],
  ],
  "a joining node without required settings": [
    "cluster:\n  node_id: a\n  data_dir: /d\n  join: [':1', 'b:1', 'b:1']\n",
    ["n:4:23: cluster.join[2]: is the same as item 1"],
  ],
  "a joining node without addresses and a secret": [
    "cluster:\n  node_id: a\n  data_dir: /d\n  join: [':1', 'b:1']\n",
    [
      "n:2:3: cluster: a joining node needs `raft_addr`",
      "n:2:3: cluster: a joining node needs `forward_addr`",
      "n:2:3: cluster: needs a `secret`, which authenticates members to each other",
      "n:4:10: cluster.join[0]: names no host that this node could connect to",
    ],
  ],
  "a join list together with peers": [
    "cluster:\n  node_id: a\n  data_dir: /d\n  peers: [{id: a, raft_addr: 'a:1'}]\n  join: [b:1]\n",
    ["n:5:3: cluster.join: `peers` and `join` exclude each other; keep one"],
  ],
  "member listeners that cannot be distinguished": [
    "cluster: {node_id: a, data_dir: /d, bootstrap: true, raft_addr: 'a:1', kek_file: k}\n",
    [
      "n:1:65: cluster.raft_addr: needs a `secret` beside it, which authenticates members to each other",
      "n:1:82: cluster.kek_file: needs a `secret` beside it, since both keys are used together",
    ],
  ],
  "addresses that cannot be dialed": [
    'cluster:\n  node_id: a\n  data_dir: /d\n  bootstrap: true\n  secret: "${secret:KEY}"\n  raft_addr: 0.0.0.0:1\n  forward_addr: a:0\n  forward_advertise: "[::]:2"\n',
    [
      "n:6:14: cluster.raft_addr: names no host that other nodes can connect to; set `advertise` to the address that they use",
      "n:8:22: cluster.forward_advertise: names no host that other nodes can connect to",
    ],
  ],
  "a short cluster secret, which is not shown": [
    "cluster: {node_id: a, data_dir: /d, bootstrap: true, secret: hunter2}\n",
    ["n:1:62: cluster.secret: must have at least 16 characters"],
  ],
  "deployment keys": [
    `${START}providers: []\nauth: {}\n`,
    [
      "n:2:1: providers: `providers` is a deployment key and does not belong in the node file; it belongs in the deployment document, which `deployment` names",
      "n:3:1: auth: `auth` is a deployment key and does not belong in the node file; it belongs in the deployment document, which `deployment` names",
    ],
  ],
  "a typo": [
    `${START}metrics-listen: none\n`,
    [`n:2:1: metrics-listen: unknown key "metrics-listen", did you mean \`metrics_listen\`? allowed: ${allowedAt("")}`],
  ],
  "one address for two listeners": [
    `${START}listen: :1\nmetrics_listen: :1\n`,
    ["n:3:17: metrics_listen: is the address of `listen` already"],
  ],
  "a directory inside itself, and a file as directory": [
    `${START}secrets_dir: \${secret:KEY}\ndeployment: \${file:pem}\n`,
    [
      "n:2:14: secrets_dir: `${secret:KEY}` cannot be used here, only `${VAR}`",
      "n:3:13: deployment: `${file:pem}` cannot be used in this document, only `${VAR}` and `${secret:NAME}`",
    ],
  ],
  "keys that this version lacks, each with its own problems": [
    `${START}cache_dir: /c\naudit: {dir: /a}\nextproc: {inspect_responses: duplex}\nadmin:\n  listen: :1\n  issuers: [{issuer: x, audience: y, roles: {claim: email}}]\nissuers:\n  - {name: i, url: 'https://i', subject_claim: upn}\n  - {name: i, url: 'https://j'}\n`,
    [
      "n:4:30: extproc.inspect_responses: needs `inspect_listen` beside it",
      "n:6:3: admin: needs a `policy_file`, since an issuer is set",
      "n:7:22: admin.issuers[0].issuer: names no entry of the top-level `issuers`",
      "n:7:45: admin.issuers[0].roles: callers can usually set `email` themselves; `trust_claim: true` says that here they cannot",
      "n:9:48: issuers[0].subject_claim: callers can usually set `upn` themselves; `trust_subject_claim: true` says that here they cannot",
      "n:10:12: issuers[1].name: is that of item 0 already",
    ],
  ],
  "an open admin listener": [
    `${START}admin: {listen: '0.0.0.0:1'}\n`,
    ["n:2:17: admin.listen: without an issuer the admin API must listen on a loopback address"],
  ],
  "names reserved for callers on this machine": [
    `${START}issuers:\n  - {name: local, url: 'https://i'}\nadmin:\n  policy_file: p\n  issuers: [{issuer: local, audience: y, roles: {map: {sre: [operator, local]}}}]\n`,
    [
      "n:3:12: issuers[0].name: is the reserved name of callers on this machine; choose another name",
      "n:6:61: admin.issuers[0].roles.map.sre: grants a role that is reserved for callers without a token (`local`, `loopback`)",
    ],
  ],
  "a certificate of both kinds": [
    `${START}tls:\n  domains: [a.example]\n  email: me@a.example\n  cert_file: c.pem\n`,
    [
      "n:3:3: tls: `cert_file` needs `key_file` beside it",
      "n:5:3: tls.cert_file: `email` and `cert_file` exclude each other; keep one",
      "n:5:3: tls.cert_file: exactly one of `domains` and `cert_file` is allowed, found `domains` and `cert_file`",
    ],
  ],
};

for (const [what, [text, expected]] of Object.entries(BAD)) {
  test(`${what} is refused with its problems`, () => {
    const result = read(text);
    assert.deepEqual(lines(result), expected);
    assert.equal(result.document, undefined);
  });
}

test("a member of three, a joiner with a fallback and an operator socket are read; times have their defaults", () => {
  const secret = 'secret: "${secret:KEY}"';
  const peers = ["a", "b", "c"].map((id) => `{id: ${id}, raft_addr: '${id}:1', forward_addr: '${id}:2'}`);
  const member = read(
    `cluster: {node_id: b, data_dir: /d, ${secret}, kek_file: k, dead_after: 10m, raft_addr: ':1', peers: [${peers}]}\nadmin: {local_socket: gateway.sock}\n`,
  );
  assert.deepEqual(
    lines(member).filter((line) => !line.includes("warning: has fewer than 32")),
    [],
  );
  assert.equal(member.document?.cluster.peers?.length, 3);
  assert.equal(member.document?.admin?.local_socket, "gateway.sock");
  const joiner = read(
    `cluster: {node_id: d, data_dir: /d, ${secret}, bootstrap: true, join: ['a:2'], raft_addr: ':1', advertise: 'd:1', forward_addr: 'd:2', dead_after: ''}\n`,
  );
  assert.equal(joiner.document?.cluster.bootstrap_wait, "5s");
  assert.equal(joiner.document?.cluster.rejoin_after, "30s");
});

test("a secret of 16 characters causes a warning, and one of 32 does not", () => {
  const cluster = (secret: string) => read(`cluster: {node_id: a, data_dir: /d, bootstrap: true, secret: ${secret}}\n`);
  assert.deepEqual(lines(cluster("a".repeat(31))), [
    "n:1:62: cluster.secret: warning: has fewer than 32 characters; all trust between members is derived from it, so make it random and long",
  ]);
  assert.notEqual(cluster("a".repeat(16)).document, undefined);
  assert.deepEqual(lines(cluster("a".repeat(32))), []);
});

test("an inspector is read, and one on a public address causes a warning", () => {
  const inspecting = (address: string) =>
    read(
      `cluster: {node_id: a, bootstrap: true}\nextproc: {inspect_listen: '${address}', request_body_mode: duplex}\n`,
    );
  for (const address of [
    "127.0.0.1:1",
    ":1",
    "0.0.0.0:1",
    "10.1.2.3:1",
    "172.31.0.1:1",
    "[::1]:1",
    "[fd00::1]:1",
    "a:1",
  ]) {
    assert.deepEqual(lines(inspecting(address)), [], address);
  }
  for (const address of ["203.0.113.7:1", "172.32.0.1:1", "[2001:db8::1]:1", "[::ffff:203.0.113.7]:1"]) {
    assert.deepEqual(lines(inspecting(address)), [
      "n:2:27: extproc.inspect_listen: warning: is unencrypted and has no authentication: listen on a loopback address or in a private network",
    ]);
  }
  assert.deepEqual(inspecting("127.0.0.1:1").document?.extproc, {
    inspect_listen: "127.0.0.1:1",
    request_body_mode: "duplex",
    inspect_responses: "",
  });
});

test("loopback addresses need no issuer", () => {
  for (const address of ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", ""]) {
    assert.deepEqual(lines(read(`${START}admin: {listen: '${address}'}\n`)), []);
  }
});
