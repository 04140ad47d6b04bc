/**
 * The console for a screen reader: text from top to bottom with roles and states, which Ink puts into words. Nothing of it
 * is drawn in columns, and what is not said again has not changed.
 */

import { Box, Text } from "ink";
import { createElement, type ReactElement, useSyncExternalStore } from "react";
import type { Spoken, SpokenNode } from "../draw/spoken-node.ts";

export interface SpokenSource {
  subscribe(listener: () => void): () => void;
  /** The same object until a listener was told. */
  current(): { readonly spoken: Spoken };
}

export function LinearScreen({ source }: { readonly source: SpokenSource }) {
  const { spoken } = useSyncExternalStore(source.subscribe, source.current);
  return createElement(Box, { flexDirection: "column" }, ...spoken.map(Node));
}

/** Children go in as places: what is said third is the third thing said. */
function Node({ role, text, state, children = [] }: SpokenNode): ReactElement {
  const words = text === "" ? null : <Text>{text}</Text>;
  const aria = {
    ...(role !== undefined && { "aria-role": role }),
    ...(state !== undefined && { "aria-state": state }),
  };
  return createElement(Box, { flexDirection: "column", ...aria }, words, ...children.map(Node));
}
