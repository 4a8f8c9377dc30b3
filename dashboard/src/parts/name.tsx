import { piecesOf } from "../text/visible.js";

/**
 * A name, or a sentence, that somebody outside has written: isolated, so that its reading direction ends with it, and with
 * what is not seen made visible.
 */
export function Name({ of, mono = false }: { readonly of: string; readonly mono?: boolean }) {
  return (
    <bdi class={mono ? "name mono" : "name"}>
      {piecesOf(of).map((piece, index) =>
        piece.kind === "text" ? (
          piece.text
        ) : (
          <span key={index} class="mark" title={piece.title}>
            {piece.text}
          </span>
        ),
      )}
    </bdi>
  );
}
