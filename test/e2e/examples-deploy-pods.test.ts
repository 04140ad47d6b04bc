/**
 * The pods of the chart as processes that find each other by the DNS names of the headless service. Each start has a
 * new address, like a pod. A pod is stopped as Kubernetes does it: its `preStop` hook, then SIGTERM.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { peer } from "../peers/index.ts";
import { manifestOf, render, specOf } from "./support/chart.ts";
import { dnsServer } from "./support/dns.ts";
import { type Gateway, runProgram, startGateway } from "./support/gateway.ts";
import { atEnd, eventually, type Owner } from "./support/wait.ts";

const helm = await peer("helm");

/** Address of the name server, which resolvers ask on port 53 only. */
const NAME_SERVER = "127.77.0.53";
const DOMAIN = "default.svc.cluster.local";

function missingHere(): string | false {
  if (process.platform !== "linux") return "resolv.conf of a process alone is of Linux";
  if (process.getuid?.() !== 0) return "it takes root to give a process a resolv.conf of its own";
  return spawnSync("unshare", ["-m", "true"]).status === 0 ? false : "mount namespaces are not permitted here";
}

interface Pods {
  start(index: number): Promise<Pod>;
}

interface Pod {
  readonly name: string;
  /** Runs a verb on the pod's admin socket. */
  run(
    ...args: readonly string[]
  ): Promise<{ readonly status: number | null; readonly out: string; readonly err: string }>;
  metric(name: string): Promise<number>;
  /** Returns the output of the `preStop` hook. Kubernetes continues a stop whose hook failed. */
  stop(hookMustWork?: boolean): Promise<string>;
}

async function createPods(owner: Owner): Promise<Pods> {
  const manifests = await render(helm.path, ["--set", "stop.lingerSeconds=0"]);
  const { data = {} } = manifestOf(manifests, "ConfigMap");
  const { serviceName, template } = specOf(manifests, "StatefulSet");
  const hook: readonly string[] = template.spec.containers[0].lifecycle.preStop.exec.command;
  assert.deepEqual(hook.slice(0, 2), ["node", "/opt/gateway/bin/gateway"]);
  const dir = await mkdtemp(join(tmpdir(), "gateway-pods-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  const secrets = join(dir, "secrets");
  await mkdir(secrets);
  await writeFile(join(secrets, "CLUSTER_SECRET"), "a-secret-of-a-cluster-that-is-long-enough");
  await writeFile(join(secrets, "OPENAI_API_KEY"), "sk-none");
  const resolver = join(dir, "resolv.conf");
  await writeFile(
    resolver,
    `search ${DOMAIN} svc.cluster.local cluster.local\nnameserver ${NAME_SERVER}\noptions ndots:5\n`,
  );
  const { names } = await dnsServer(owner, { host: NAME_SERVER, port: 53 });
  const prefix = ["unshare", "-m", "sh", "-c", `mount --bind ${resolver} /etc/resolv.conf && exec "$@"`, "sh"];
  let starts = 0;

  const start = async (index: number): Promise<Pod> => {
    starts += 1;
    const name = `gateway-${index}`;
    const host = `127.77.${starts}.${index + 1}`;
    const home = join(dir, name);
    await mkdir(home, { recursive: true });
    const node = (data["node.yaml"] ?? "")
      .replaceAll(/: :(\d+)$/gm, `: "${host}:$1"`)
      .replaceAll(/: ":(\d+)"$/gm, `: "${host}:$1"`)
      .replace("/etc/gateway-secrets", secrets)
      .replace("/var/lib/gateway", join(home, "data"))
      .replace("/run/gateway", home);
    assert.equal(node.split(host).length - 1, 4, node);
    await writeFile(join(home, "node.yaml"), node);
    await writeFile(join(home, "deployment.yaml"), data["deployment.yaml"] ?? "");
    const label = `${name}.${serviceName}.${DOMAIN}`;
    names.set(label, { addresses: [host] });
    const env = { POD_NAME: name, GATEWAY_WORKERS: "1" };
    const pod: Gateway = await startGateway(owner, { args: ["-config", join(home, "node.yaml")], env, prefix });
    const get = (path: string): Promise<Response> => fetch(`http://${host}:9464${path}`);
    await eventually(`${name} is ready`, async () => (await get("/readyz")).ok);
    const run: Pod["run"] = async (...args) => {
      const program = runProgram(owner, { args, env: { GATEWAY_ADMIN_SOCKET: join(home, "admin.sock") } });
      const { status } = await program.ended;
      return { status, out: program.stdout(), err: program.stderr() };
    };
    return {
      name,
      run,
      async metric(series) {
        const [, value] = new RegExp(`^${series} (\\S+)$`, "m").exec(await (await get("/metrics")).text()) ?? [];
        return Number(value);
      },
      async stop(hookMustWork = true) {
        const { status, err } = await run(...hook.slice(2).map((it) => it.replace("/run/gateway", home)));
        if (status !== 0 && hookMustWork) assert.fail(err);
        pod.signal("SIGTERM");
        assert.deepEqual(await pod.ended, { status: 0, signal: null });
        names.delete(label);
        return err;
      },
    };
  };
  return { start };
}

const voters = (pod: Pod, count: number) =>
  eventually(`${pod.name} sees ${count} voters`, async () => (await pod.metric("gateway_raft_voters")) === count);

async function mint(pod: Pod, name: string): Promise<void> {
  const { status, err } = await pod.run("keys", "mint", name);
  assert.equal(status, 0, err);
}

const skip = helm.missing || missingHere();

test("pods join by name, are restarted one by one, and are scaled from three to five and back", { skip }, async (t) => {
  const pods = await createPods(t);
  const running: Pod[] = [];
  // Starts in order, each once the previous one is ready.
  for (const index of [0, 1, 2]) running.push(await pods.start(index));
  await voters(running[0]!, 3);

  await t.test("a rolling restart goes from the last pod to the first, and a leader hands over first", async () => {
    const reported: string[] = [];
    for (const index of [2, 1, 0]) {
      reported.push(await running[index]!.stop());
      await mint(running[(index + 1) % 3]!, `while-${index}-is-away`);
      running[index] = await pods.start(index);
      const { status, err } = await running[index]!.run("wait", "ready", "leader", "applied", "-timeout", "60s");
      assert.equal(status, 0, err);
    }
    assert.match(reported[2] ?? "", /^gateway-0 handed leadership over to gateway-[12]\.$/m);
    assert.match(reported[1] ?? "", /^gateway-1 does not lead: the leader is gateway-0\. Nothing was changed\.$/m);
    for (const pod of running) await voters(pod, 3);
  });

  const five = async (): Promise<void> => {
    for (const index of [3, 4]) running[index] = await pods.start(index);
    for (const pod of running) await voters(pod, 5);
  };
  const three = async (): Promise<void> => {
    for (const pod of running.splice(3).reverse()) await pod.stop();
    const keep = JSON.stringify({ keep: running.map(({ name }) => name) });
    const { status, err } = await running[0]!.run("admin", "-d", keep, "POST", "cluster/prune");
    assert.equal(status, 0, err);
    for (const pod of running) await voters(pod, 3);
  };

  await t.test("two more pods become voters and are removed once they are gone", async () => {
    await five();
    await mint(running[4]!, "by-the-fifth");
    await three();
    await mint(running[1]!, "with-three-again");
  });

  await t.test("pods that were removed return on their former volumes", async () => {
    await five();
    await three();
  });

  await t.test(
    "after all pods were stopped, the first alone becomes ready, and the second completes a quorum",
    async () => {
      // The last two have no quorum to elect another leader.
      for (const pod of running.splice(0).reverse()) await pod.stop(false);
      const first = await pods.start(0);
      assert.equal(await first.metric("gateway_raft_voters"), 3);
      running.push(first, await pods.start(1));
      await eventually("a leader", async () => (await first.metric("gateway_raft_has_leader")) === 1);
    },
  );
});
