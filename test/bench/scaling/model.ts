/** Cost model of a cluster: straight lines through measured points, and their values for larger clusters. Pure. */

/** Measurements of a cluster with this many followers. CPU in microseconds. */
export interface ClusterPoint {
  readonly followers: number;
  readonly leaderUsAWrite: number;
  readonly followerUsAWrite: number;
  /** Per second without writes. */
  readonly leaderUsIdle: number;
  /** Bytes to one follower. */
  readonly bytesAWrite: number;
}

interface Line {
  readonly at0: number;
  readonly slope: number;
}

interface Model {
  /** Without followers: nothing is sent or awaited. */
  readonly aloneAWrite: number;
  readonly leaderAWrite: Line;
  readonly leaderIdle: Line;
  readonly followerAWrite: number;
  readonly bytesAWrite: number;
}

/** Demand of one serving node on the cluster, and its cost per request. */
export interface NodeLoad {
  readonly requestUs: number;
  /** Entries per second of a node under full load. */
  readonly writesASecond: number;
}

interface Prediction {
  readonly nodes: number;
  readonly requestsASecond: number;
  readonly writesASecond: number;
  /** Share of one core. */
  readonly leaderShare: number;
  readonly followerShare: number;
  /** Bytes sent by the leader. */
  readonly bytesASecond: number;
}

/** Least-squares fit. */
function lineThrough(points: readonly { readonly x: number; readonly y: number }[]): Line {
  const mean = (of: (point: { readonly x: number; readonly y: number }) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const x = mean((point) => point.x);
  const y = mean((point) => point.y);
  const spread = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  const slope = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0) / spread;
  return { at0: y - slope * x, slope };
}

export const valueAt = ({ at0, slope }: Line, x: number): number => at0 + slope * x;

export function fitModel(points: readonly ClusterPoint[]): Model {
  const withFollowers = points.filter(({ followers }) => followers > 0);
  const lineOf = (some: readonly ClusterPoint[], of: (point: ClusterPoint) => number): Line =>
    lineThrough(some.map((point) => ({ x: point.followers, y: of(point) })));
  const mean = (of: (point: ClusterPoint) => number): number =>
    withFollowers.reduce((sum, point) => sum + of(point), 0) / withFollowers.length;
  return {
    aloneAWrite: points.find(({ followers }) => followers === 0)?.leaderUsAWrite ?? Number.NaN,
    leaderAWrite: lineOf(withFollowers, (point) => point.leaderUsAWrite),
    leaderIdle: lineOf(points, (point) => point.leaderUsIdle),
    followerAWrite: mean((point) => point.followerUsAWrite),
    bytesAWrite: mean((point) => point.bytesAWrite),
  };
}

const SECOND_US = 1e6;
/** Maximum share of a core: a busier node answers late. */
const SERVING_SHARE = 0.7;

export function predict(model: Model, { requestUs, writesASecond }: NodeLoad, nodes: number): Prediction {
  const writes = nodes * writesASecond;
  const followers = nodes - 1;
  const aWrite = followers === 0 ? model.aloneAWrite : valueAt(model.leaderAWrite, followers);
  const leaderUs = writes * aWrite + Math.max(0, valueAt(model.leaderIdle, followers));
  return {
    nodes,
    requestsASecond: (nodes * SERVING_SHARE * SECOND_US) / requestUs,
    writesASecond: writes,
    leaderShare: leaderUs / SECOND_US,
    followerShare: followers === 0 ? 0 : (writes * model.followerAWrite) / SECOND_US,
    bytesASecond: writes * followers * model.bytesAWrite,
  };
}

/** Maximum number of nodes whose leader stays below `share` of a core. */
export function maxNodes(model: Model, load: NodeLoad, share: number): number {
  let nodes = 1;
  while (nodes < 100_000 && predict(model, load, nodes + 1).leaderShare <= share) nodes++;
  return nodes;
}
