import { notifications } from "@mantine/notifications";

/** Says what was done, and takes it back for ten seconds. */
export function tellUndo(message: string, undo: () => void) {
  const id = notifications.show({
    autoClose: 10_000,
    withBorder: true,
    message: (
      <span className="row">
        {message}
        <button
          type="button"
          className="link strong"
          onClick={() => {
            notifications.hide(id);
            undo();
          }}
        >
          Undo
        </button>
      </span>
    ),
  });
}
