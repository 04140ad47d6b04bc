/**
 * Recovery guide: what to do when the majority of the voters is permanently lost, with the commands in order and the known
 * names. It changes nothing itself: the command works on a stopped node. Source: operator console reference, B5; specification
 * document 1, "cluster recover"; `src/cli/verbs/cluster-recover.ts`.
 */

import type { ClusterMemberRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { isReachable, quorumOf, quorumText } from "../actions/cluster-quorum.ts";
import { membersOf, statusOf } from "../actions/known-members.ts";
import { count } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { contactText } from "./cluster-members.ts";

const NODE_FILE = "node.yaml";

export const recoverView: View = {
  id: "recover",
  aliases: [],
  title: "Recovery guide",
  about: "what to do when the majority is lost permanently",
  needs: () => [{ id: "list_cluster_members" }, { id: "get_status" }],
  body: { kind: "page", lines: recoverLines },
  offers: [],
};

export function recoverLines(context: Context): readonly Line[] {
  const members = membersOf(context);
  return [
    line("WHEN", "strong"),
    line("Only when the majority of the voters is lost permanently: their disks will not come back."),
    line("If a majority can be started again, start it: nothing is lost then, and this guide does not apply."),
    line("To remove single members that will not come back, prune them while the cluster runs (:cluster, then P)."),
    BLANK,
    line("NOW", "strong"),
    ...memberLines(context, members),
    ...members.map((member) => memberLine(member, statusOf(context)?.node)),
    BLANK,
    line("WHAT TO DO, in this order", "strong"),
    ...steps(members),
    BLANK,
    line("WHAT IS LOST", "strong"),
    line("Writes that only the lost members had. What the chosen survivor has beyond the last known commit counts as"),
    line("committed from then on: some of it may never have been acknowledged."),
    line(
      "A lost member that turns up again with its old disk is refused. Never start it without moving data_dir aside.",
    ),
  ];
}

function memberLines(context: Context, members: readonly ClusterMemberRecord[]): readonly Line[] {
  if (members.length === 0) return [line("The members are not known: no gateway has answered yet.", "warn")];
  const quorum = quorumOf(members);
  const from = statusOf(context)?.node;
  const asSeen = from === undefined ? "" : ` as ${escapeControls(from)} sees it`;
  return [
    line(`${quorumText(quorum)}; ${quorum.reachable} reachable${asSeen}`),
    quorum.isMet
      ? line("A majority is reachable: do NOT recover. Whatever is wrong, this guide does not apply.", "warn")
      : line("! No majority is reachable: nothing can be written until there is one, or until a recovery.", "fail"),
  ];
}

function memberLine(member: ClusterMemberRecord, self: string | undefined): Line {
  const { id, voter, state, last_contact_ms, applied, forward_addr } = member;
  const contact = last_contact_ms === null || id === self ? "" : `, heard of ${contactText(last_contact_ms)} ago`;
  return [
    span(`  ${escapeControls(id)}${id === self ? " *" : ""}`.padEnd(12)),
    span(`${voter ? "voter  " : "learner"}  `),
    span(`${state}${contact}`, isReachable(member) ? "plain" : "fail"),
    span(`, index ${applied === null ? "not known" : count(applied)}`),
    span(`, forward ${forward_addr === "" ? "not known" : escapeControls(forward_addr)}`, "dim"),
  ];
}

/** Returns the reachable voter with the most advanced known log; the data on disk decides in the end. */
export function survivorOf(members: readonly ClusterMemberRecord[]): ClusterMemberRecord | undefined {
  const survivors = members.filter((member) => member.voter && isReachable(member));
  return survivors.toSorted((a, b) => (b.applied ?? -1) - (a.applied ?? -1) || (a.id < b.id ? -1 : 1))[0];
}

function steps(members: readonly ClusterMemberRecord[]): readonly Line[] {
  const survivors = members.filter((member) => member.voter && isReachable(member)).map(({ id }) => escapeControls(id));
  const best = survivorOf(members);
  const chosen = best === undefined ? "NODE" : escapeControls(best.id);
  const address = best === undefined || best.forward_addr === "" ? "HOST:PORT" : escapeControls(best.forward_addr);
  const known = best?.applied === null || best === undefined ? "" : `, index ${count(best.applied)}`;
  const named = survivors.length === 0 ? "" : ` (${survivors.join(", ")})`;
  const single = survivors.length === 1 ? `. ${survivors[0]} is the only survivor known` : "";
  return [
    ...step("1", `on every survivor${named}: stop the gateway`, "systemctl stop gateway"),
    ...step(
      "2",
      "on every survivor: print what its disk says; this writes nothing",
      `gateway cluster recover -config ${NODE_FILE}`,
    ),
    line(
      "   Choose ONE: the highest `last term`, and among equals the highest `last index`. A higher index of an older",
    ),
    line(`   term has less${single}.`),
    ...step(
      "3",
      `on the chosen one alone (by what is known now ${chosen}${known}): check, then write, once`,
      `gateway cluster recover -config ${NODE_FILE} -keep ${chosen}`,
      `gateway cluster recover -config ${NODE_FILE} -keep ${chosen} -confirm`,
    ),
    ...step("4", `on ${chosen}: start it; it is a cluster of one and leads`, "systemctl start gateway"),
    ...step(
      "5",
      "on the others, one after the other: move data_dir aside, name the chosen one in the node file, start",
      "mv DATA_DIR DATA_DIR.lost",
      `cluster.join: ["${address}"]   in place of peers and bootstrap`,
      "systemctl start gateway",
    ),
    ...step("6", "check: each is a learner first and gets a vote once it has caught up", ":cluster"),
    line("   Then save a snapshot (w), and compare keys, budgets and audit heads with your records."),
  ];
}

/** Returns a step: the instruction, then the commands. */
function step(number: string, text: string, ...typed: readonly string[]): readonly Line[] {
  return [line(`${number}  ${text}`), ...typed.map((command): Line => [span("     "), span(command, "strong")])];
}
