import { Component, type ReactNode } from "react";

import { Failed } from "@/ui/states";

/** Keeps a fault of one page from taking the others with it. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === undefined) {
      return this.props.children;
    }
    return <Failed error={this.state.error} retry={() => this.setState({ error: undefined })} />;
  }
}
