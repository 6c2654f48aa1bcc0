import type { ComposeImage, ComposePhase } from '@drover/shared/link/compose-status';

/** What is being done now, beside what the state file says: gone with the agent. */
export class Progress {
  readonly #images = new Map<string, ComposeImage>();
  readonly #onChange: () => void;
  #phase: ComposePhase = 'idle';
  #heldBy: string | null = null;
  #unavailable: string | null = null;
  #isUnsure = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get phase(): ComposePhase {
    return this.#phase;
  }

  /** Who holds the update lock, while it is waited for. */
  get heldBy(): string | null {
    return this.#heldBy;
  }

  /** Those of the version that was worked on last. */
  get images(): readonly ComposeImage[] {
    return [...this.#images.values()];
  }

  /** Why the engine can't be used; null = it can, as far as is known. */
  get unavailable(): string | null {
    return this.#unavailable;
  }

  /** Whether what is up is still there is being looked at, or it is being brought up again. */
  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  setUnsure(isUnsure: boolean): void {
    if (isUnsure === this.#isUnsure) return;
    this.#isUnsure = isUnsure;
    this.#onChange();
  }

  setPhase(phase: ComposePhase, heldBy: string | null = null): void {
    if (phase === this.#phase && heldBy === this.#heldBy) return;
    this.#phase = phase;
    this.#heldBy = heldBy;
    this.#onChange();
  }

  setUnavailable(why: string | null): void {
    if (why === this.#unavailable) return;
    this.#unavailable = why;
    this.#onChange();
  }

  setImages(images: readonly ComposeImage[]): void {
    this.#images.clear();
    for (const image of images) this.#images.set(image.image, image);
    this.#onChange();
  }

  setImage(image: ComposeImage): void {
    this.#images.set(image.image, image);
    this.#onChange();
  }
}
