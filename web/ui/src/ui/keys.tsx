import { Fragment } from "preact";

/** Keys that are pressed together, as they are printed on a keyboard: "Ctrl+Shift+Space". */
export function Keys({ keys }: { keys: string }) {
  return (
    <span class="keys">
      {keys.split("+").map((key, at) => (
        <Fragment key={key}>
          {at > 0 && <span class="visually-hidden">+</span>}
          <kbd>{key}</kbd>
        </Fragment>
      ))}
    </span>
  );
}
