/** The verbs that watch and change a running gateway, as entries of the table of verbs. */

import {
  ackFlags,
  configApplyFlags,
  configDiffFlags,
  configRollbackFlags,
  explainFlags,
  getFlags,
  liftFlags,
  mintFlags,
  plainFlags,
  rehearseFlags,
  removeFlags,
  rotateFlags,
  statusFlags,
  suspendFlags,
  unackFlags,
  waitFlags,
} from "./flags.ts";

/** Flags may stand before and after the arguments of these verbs: nobody remembers an order at 3 a.m. */
const isInterleaved = true as const;

export const OPERATE_VERBS = [
  {
    name: "status",
    group: "operate",
    summary: "show nodes, leader and alerts, worst first",
    description:
      "Prints the members of the cluster, whether the node asked serves, and the alerts of the console's overview, worst " +
      "first. The status is 1 when the node cannot serve or an alert fails that nobody has acknowledged.",
    flags: statusFlags,
    positionals: { usage: "", min: 0, max: 0 },
  },
  {
    name: "get",
    group: "operate",
    summary: "print a list: keys, providers, budgets, requests ...",
    description:
      "Prints the rows of a list of the admin API; alone it names the lists. One NAME prints the whole record. -where " +
      "chooses rows, -columns columns; -watch goes on with what changes. The status is 1 when a NAME is not there.",
    flags: getFlags,
    positionals: { usage: "[LIST [NAME...]]", min: 0, max: 100, words: "lists" },
    isInterleaved,
  },
  {
    name: "explain",
    group: "operate",
    summary: "show what decided a request",
    description:
      "Prints who sent a request, what for, which rule, budget, guardrail and provider decided it, its times, and its audit " +
      "records, from whichever node served it. REQUEST-ID is x-gateway-request-id of the answer. Nodes remember their last " +
      "requests only.",
    flags: explainFlags,
    positionals: { usage: "REQUEST-ID", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "rehearse",
    group: "operate",
    summary: "try a change on the requests of the last hour",
    description:
      "Judges a deployment document by the requests that all nodes served lately, and writes nothing: which would be " +
      "refused or go elsewhere, whose they are, and of which it cannot be told and why. Without FILE, -set changes one " +
      "setting of what is stored. '-' reads stdin. The status is 1 when a request that was served would be refused.",
    flags: rehearseFlags,
    positionals: { usage: "[FILE]", min: 0, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "wait",
    group: "operate",
    summary: "wait until a node is ready, or has drained",
    description:
      "Waits until all conditions are met at once: ready (the node serves), leader (it knows one), applied (it has applied " +
      "all that was acknowledged before), quiet (no call is in flight at it). A node that does not answer is waited for. The " +
      "status is 1 after the timeout, 3 when the node was not reached at the end.",
    flags: waitFlags,
    positionals: { usage: "CONDITION...", min: 1, max: 4, words: "conditions" },
    isInterleaved,
  },
  {
    name: "suspend",
    group: "incident",
    summary: "switch a provider, key, model, server or agent off",
    description:
      "Refuses or reroutes what goes to it, on every node, until it is lifted or the time is over. Says what it affects " +
      "before, asks, and says where it is in force after. KIND is provider, key, profile, model, mcp, a2a or issuer.",
    flags: suspendFlags,
    positionals: { usage: "KIND:NAME", min: 1, max: 1, names: "suspendable" },
    isInterleaved,
  },
  {
    name: "lift",
    group: "incident",
    summary: "lift a suspension",
    description: "Lets what was suspended take traffic again, on every node.",
    flags: liftFlags,
    positionals: { usage: "KIND:NAME", min: 1, max: 1, names: "suspensions" },
    isInterleaved,
  },
  {
    name: "keys mint",
    group: "incident",
    summary: "mint a virtual key and print its text",
    description:
      "Prints the text of the new key on stdout, this once, and everything else on stderr, so that KEY=$(gateway keys mint " +
      "ci) works.",
    flags: mintFlags,
    positionals: { usage: "NAME", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "keys rotate",
    group: "incident",
    summary: "give a virtual key a new text",
    description: "The old text is refused at once, on every node; the new one is printed on stdout, this once.",
    flags: rotateFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "keys" },
    isInterleaved,
  },
  {
    name: "keys revoke",
    group: "incident",
    summary: "revoke virtual keys for good",
    description:
      "Requests with the keys are refused at once, on every node. It cannot be undone; 'suspend key:NAME' can.",
    flags: removeFlags,
    positionals: { usage: "NAME...", min: 1, max: 100, names: "keys" },
    isInterleaved,
  },
  {
    name: "keys find",
    group: "incident",
    summary: "find whose key a leaked text is",
    description:
      "Reads the text, or stdin without one, and prints the key whose public id is in it. The text stays on this machine. " +
      "The status is 1 when it is no key of this gateway.",
    flags: plainFlags,
    positionals: { usage: "[TEXT|-]", min: 0, max: 1 },
    isInterleaved,
  },
  {
    name: "secrets put",
    group: "incident",
    summary: "seal a secret, or give it a new value",
    description:
      "Reads the value from stdin, without its last line end; on a terminal it is typed unseen. A configuration names it as " +
      "${secret:NAME}.",
    flags: plainFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "secrets" },
    isInterleaved,
  },
  {
    name: "secrets list",
    group: "incident",
    summary: "list the sealed secrets, without their values",
    description: "Prints name, version, time and wrapping key of each; the same as 'gateway get secrets'.",
    flags: getFlags,
    positionals: { usage: "", min: 0, max: 0 },
    isInterleaved,
  },
  {
    name: "secrets delete",
    group: "incident",
    summary: "delete a sealed secret",
    description: "Shows where the configuration names it, asks, and deletes it on every node. It cannot be undone.",
    flags: removeFlags,
    positionals: { usage: "NAME", min: 1, max: 1, names: "secrets" },
    isInterleaved,
  },
  {
    name: "ack",
    group: "incident",
    summary: "acknowledge an alert for a time",
    description:
      "Folds an alert of 'gateway status' and of the console away for every operator, until the time is over or it gets " +
      "worse. ALERT is its name, such as provider:openai.",
    flags: ackFlags,
    positionals: { usage: "ALERT", min: 1, max: 1, names: "alerts" },
    isInterleaved,
  },
  {
    name: "unack",
    group: "incident",
    summary: "show an acknowledged alert again",
    description: "Lifts an acknowledgement: the alert is shown to every operator again.",
    flags: unackFlags,
    positionals: { usage: "ALERT", min: 1, max: 1, names: "acknowledgements" },
    isInterleaved,
  },
  {
    name: "config show",
    group: "incident",
    summary: "show the configuration sources, or the document of one",
    description:
      "Prints the sources with their revisions, and how the file of the node stands; with SOURCE its document as written.",
    flags: plainFlags,
    positionals: { usage: "[SOURCE]", min: 0, max: 1, names: "sources" },
    isInterleaved,
  },
  {
    name: "config diff",
    group: "incident",
    summary: "show what a document would change",
    description:
      "Compiles the document as the gateway would, and prints what it would change by meaning and line by line. Writes " +
      "nothing. '-' reads stdin. The status is 1 when it differs or would be refused.",
    flags: configDiffFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "config apply",
    group: "incident",
    summary: "apply a document to the whole cluster",
    description:
      "Prints what the document would change, asks, and writes it as the newest revision, unless somebody else was quicker. " +
      "'-' reads stdin. Deployments whose node file names a document are changed by 'gateway config reload'.",
    flags: configApplyFlags,
    positionals: { usage: "FILE", min: 1, max: 1, areFiles: true },
    isInterleaved,
  },
  {
    name: "config history",
    group: "incident",
    summary: "list the revisions of a configuration source",
    description: "Prints the revisions that are kept, newest first, with who wrote each.",
    flags: configDiffFlags,
    positionals: { usage: "", min: 0, max: 0 },
    isInterleaved,
  },
  {
    name: "config rollback",
    group: "incident",
    summary: "make an earlier revision the newest",
    description: "Prints what going back would change, asks, and writes that revision again as the newest.",
    flags: configRollbackFlags,
    positionals: { usage: "REVISION", min: 1, max: 1 },
    isInterleaved,
  },
  {
    name: "config edit",
    group: "incident",
    summary: "edit a configuration source in $EDITOR",
    description:
      "Opens the document in $VISUAL or $EDITOR, prints what the edited one would change, asks, and applies it. A document " +
      "that would be refused can be edited again.",
    flags: plainFlags,
    positionals: { usage: "[SOURCE]", min: 0, max: 1, names: "sources" },
    isInterleaved,
  },
  {
    name: "config reload",
    group: "incident",
    summary: "apply the deployment document of the node file",
    description: "Says how the file stands to what runs, asks, and applies it to the whole cluster.",
    flags: configRollbackFlags,
    positionals: { usage: "", min: 0, max: 0 },
  },
] as const;
