/**
 * `npm run bench:scaling`: measures clusters of 1, 3, 5 and 9 nodes, fits the model of docs/scaling.md to them, checks
 * it with a cluster of 7, and prints its prediction for 10, 100 and 1,000 nodes.
 */

import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { compileNode } from "./raft/compile.ts";
import { align } from "./report.ts";
import { measureCluster, measureServing } from "./scaling/measure.ts";
import { type ClusterPoint, fitModel, maxNodes, predict, valueAt } from "./scaling/model.ts";
import { openStage } from "./stage.ts";

const FITTED = [1, 3, 5, 9];
const CHECKED = 7;
const PREDICTED = [1, 3, 10, 30, 100, 1_000];
const LEADER_SHARE = 0.5;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const rowOf = (name: string, point: ClusterPoint): string[] => [
  name,
  point.leaderUsAWrite.toFixed(0),
  point.followerUsAWrite.toFixed(0),
  (point.leaderUsIdle / 1e3).toFixed(1),
  point.bytesAWrite.toFixed(0),
];

async function run(): Promise<void> {
  process.env["GATEWAY_WORKERS"] = "1";
  process.env["UV_THREADPOOL_SIZE"] = "16";
  const gateway = fileURLToPath(new URL("../../bin/gateway", import.meta.url));
  const stage = await openStage({ isQuick: false, only: [], hasProfile: false, isStrict: false, rounds: 5, gateway });
  const { folder } = stage.pieces;
  say(`${cpus().length} x ${cpus()[0]?.model ?? "unknown"}; load before ${loadavg()[0]?.toFixed(1)}\n`);
  const serving = await measureServing(stage);
  say(
    `a serving node: ${serving.requestUs.toFixed(0)} us a request, ${serving.writesASecond.toFixed(1)} writes a second\n`,
  );
  const options = { file: await compileNode(folder), folder, nodeFlags: [] };
  const points: ClusterPoint[] = [];
  for (const nodes of FITTED) points.push(await measureCluster(nodes, options));
  const checked = await measureCluster(CHECKED, options);
  const model = fitModel(points);
  const followers = CHECKED - 1;
  const expected: ClusterPoint = {
    followers,
    leaderUsAWrite: valueAt(model.leaderAWrite, followers),
    followerUsAWrite: model.followerAWrite,
    leaderUsIdle: valueAt(model.leaderIdle, followers),
    bytesAWrite: model.bytesAWrite,
  };
  say(
    align([
      ["nodes", "leader us a write", "follower us a write", "leader idle ms/s", "bytes a write and follower"],
      ...points.map((point) => rowOf(String(point.followers + 1), point)),
      rowOf(`${CHECKED}, by the model`, expected),
      rowOf(`${CHECKED}, measured`, checked),
    ]),
  );
  const rows = PREDICTED.map((nodes) => {
    const at = predict(model, serving, nodes);
    return [
      String(nodes),
      at.requestsASecond.toFixed(0),
      at.writesASecond.toFixed(0),
      `${(at.leaderShare * 100).toFixed(0)} %`,
      `${(at.followerShare * 100).toFixed(0)} %`,
      `${(at.bytesASecond / 1e6).toFixed(1)} MB`,
    ];
  });
  say(
    `\n${align([["nodes", "requests/s", "writes/s", "leader", "each follower", "sent by the leader, /s"], ...rows])}`,
  );
  say(
    `\nthe leader uses half a core with ${maxNodes(model, serving, LEADER_SHARE)} nodes, a whole one with ${maxNodes(model, serving, 1)}`,
  );
  await stage.end();
}

await run();
