/** Manages the pools of the configuration in force, with their members, which are kept over reloads. */

import { type Instruments, type Log, systemClock } from "../../../base/index.ts";
import { openPickers, type PickerRequest, routeByPicker } from "../picker/index.ts";
import type { Route, Routed } from "../server.ts";
import { createNameResolver, type NameResolver } from "./host-names.ts";
import { type ConnectFailure, Member, type MemberState } from "./member.ts";
import { type MemberSet, openMemberSet } from "./member-set.ts";
import { createPoolMetrics } from "./metrics.ts";
import { routeOver } from "./round-robin.ts";
import type { PoolSpec } from "./spec.ts";

export interface PoolMember {
  /** Endpoint in the form `address:port`. */
  readonly endpoint: string;
  readonly state: MemberState;
  readonly inFlight: number;
  readonly attempts: number;
  /** Number of failed connects. */
  readonly failures: number;
  readonly lastFailure: ConnectFailure | undefined;
  /** Time since which connects fail, in milliseconds since 1970; `undefined` if the last connect succeeded. */
  readonly failingSince: number | undefined;
  /** Names of the subsets that contain the member. */
  readonly subsets: readonly string[];
}

interface Pools {
  /**
   * Selects a server. Returns a promise until the pool's name was resolved for the first time, and always with a picker.
   * `subset`: `undefined` for the whole pool. `pickerRequest` is passed to the picker.
   */
  route(spec: PoolSpec, subset: string | undefined, pickerRequest: PickerRequest): Routed | Promise<Routed>;
  /** Replaces the pools. */
  keepOnly(specs: readonly PoolSpec[]): void;
  /**
   * Returns the members of the whole pool and of its subsets, then former members that still have requests; `undefined` if there
   * is no such pool.
   */
  members(provider: string): readonly PoolMember[] | undefined;
  /** Returns the number of open connections. */
  connections(): number;
  close(): Promise<void>;
}

export interface PoolsOptions {
  /** Name servers as `address[:port]`; the system's by default. */
  readonly nameServers?: readonly string[];
  readonly instruments?: Instruments;
  readonly log?: Pick<Log, "warn" | "info">;
  /** Returns true for an address at which this gateway itself listens. */
  readonly isOwnListener?: (address: string, port: number) => boolean;
  readonly ca: string | undefined;
}

interface PoolState {
  readonly spec: PoolSpec;
  /** Member sets by subset and host. */
  readonly sets: Map<string, MemberSet>;
  readonly membersByAddress: Map<string, { readonly member: Member; holders: number }>;
  readonly leaving: Set<Member>;
}

/** Member sets of one pool specification, found without building a key. */
interface Resolved {
  readonly whole: MemberSet;
  readonly subsets: ReadonlyMap<string, MemberSet>;
}

const WHOLE = "";

const isClosed = ({ whole, subsets }: Resolved): boolean =>
  whole.isClosed || [...subsets.values()].some((set) => set.isClosed);

export function openPools(options: PoolsOptions): Pools {
  const now = systemClock.monotonic;
  const names: NameResolver = createNameResolver({ servers: options.nameServers ?? [] });
  const metrics = options.instruments && createPoolMetrics(options.instruments);
  const pickers = openPickers({ instruments: options.instruments, log: options.log, now });
  const states = new Map<string, PoolState>();
  const resolved = new WeakMap<PoolSpec, Resolved>();

  const setOf = (state: PoolState, subset: string, host: string): MemberSet => {
    const key = `${subset}\0${host}`;
    const known = state.sets.get(key);
    if (known !== undefined) return known;
    const { provider, origin, port } = state.spec;
    const set = openMemberSet({
      provider,
      subset,
      host,
      port,
      names,
      now,
      isOwnListener: options.isOwnListener ?? (() => false),
      metrics,
      log: options.log,
      acquire(address) {
        const held = state.membersByAddress.get(address);
        if (held !== undefined) {
          held.holders += 1;
          return held.member;
        }
        const onUnreachable = (): void => {
          metrics?.countConnectFailure(provider);
          for (const one of state.sets.values()) one.resolveNow();
        };
        const { ca } = options;
        const member = new Member({ origin, address, port, ca, now, onUnreachable });
        state.membersByAddress.set(address, { member, holders: 1 });
        return member;
      },
      release(member) {
        const held = state.membersByAddress.get(member.address);
        if (held === undefined || held.member !== member) return;
        held.holders -= 1;
        if (held.holders > 0) return;
        state.membersByAddress.delete(member.address);
        for (const one of state.leaving) if (one.inFlight === 0) state.leaving.delete(one);
        if (member.inFlight > 0) state.leaving.add(member);
        member.drain();
      },
    });
    state.sets.set(key, set);
    return set;
  };

  const resolve = (spec: PoolSpec): Resolved => {
    const known = resolved.get(spec);
    // A request that began under a previous configuration still finds its pool.
    if (known !== undefined && !isClosed(known)) return known;
    const key = `${spec.provider}\0${spec.origin}`;
    let state = states.get(key);
    if (state === undefined) {
      state = { spec, sets: new Map(), membersByAddress: new Map(), leaving: new Set() };
      states.set(key, state);
    }
    const at = state;
    const made: Resolved = {
      whole: setOf(at, WHOLE, spec.host),
      subsets: new Map([...spec.subsets].map(([name, host]) => [name, setOf(at, name, host)])),
    };
    resolved.set(spec, made);
    return made;
  };

  const routeOf = (set: MemberSet): Route => routeOver(set.roundRobin, () => set.problem ?? "it has no server", now);

  return {
    route(spec, subset, pickerRequest) {
      const { whole, subsets } = resolve(spec);
      const set = subset === undefined ? whole : subsets.get(subset);
      if (set === undefined)
        return { kind: "route", next: () => undefined, noServerReason: "the pool has no such subset" };
      const { picker } = spec;
      const routed = (): Routed | Promise<Routed> =>
        picker === undefined ? routeOf(set) : routeByPicker({ pool: spec, picker, set }, pickerRequest, pickers, now);
      return set.isSettled ? routed() : set.firstResolution.then(routed);
    },
    keepOnly(specs) {
      pickers.keepOnly(specs.flatMap(({ picker }) => picker ?? []));
      const kept = new Set(specs.map(resolve).flatMap(({ whole, subsets }) => [whole, ...subsets.values()]));
      for (const [key, state] of states) {
        for (const [name, set] of state.sets) {
          if (kept.has(set)) continue;
          state.sets.delete(name);
          set.close();
        }
        if (state.sets.size === 0) states.delete(key);
      }
    },
    members(provider) {
      const state = [...states.values()].find(({ spec }) => spec.provider === provider);
      if (state === undefined) return undefined;
      const subsetsOf = (member: Member): readonly string[] =>
        [...state.sets.values()]
          .filter(({ subset, memberAt }) => subset !== WHOLE && memberAt(member.endpoint) === member)
          .map(({ subset }) => subset);
      const present = [...state.membersByAddress.values()].map(({ member }) => member);
      const leaving = [...state.leaving].filter(({ inFlight }) => inFlight > 0);
      return [...present, ...leaving].map((member) => ({
        endpoint: member.endpoint,
        state: member.state,
        inFlight: member.inFlight,
        attempts: member.attempts,
        failures: member.failures,
        lastFailure: member.lastFailure,
        failingSince: member.failingSince,
        subsets: subsetsOf(member),
      }));
    },
    connections() {
      let open = 0;
      for (const { membersByAddress } of states.values())
        for (const { member } of membersByAddress.values()) open += member.connections;
      return open;
    },
    async close() {
      const members = [...states.values()].flatMap(({ membersByAddress, leaving }) => [
        ...[...membersByAddress.values()].map(({ member }) => member),
        ...leaving,
      ]);
      for (const { sets } of states.values()) for (const set of sets.values()) set.close();
      states.clear();
      pickers.close();
      await Promise.all(members.map((member) => member.destroy()));
    },
  };
}
