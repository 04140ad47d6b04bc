/**
 * Keeps what a component throws from Ink, whose own boundary would print it over the screen. Boundaries exist in React as
 * classes only.
 */

import { Component, type ReactNode } from "react";

interface GuardProps {
  /** Called before anything of the failed tree is written: nothing of it is to reach the terminal. */
  onFailing(): void;
  onFailed(error: unknown): void;
  readonly children: ReactNode;
}

export class Guard extends Component<GuardProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown): void {
    this.props.onFailed(error);
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children;
    // `componentDidCatch` comes only after the emptied tree was written.
    this.props.onFailing();
    return null;
  }
}
