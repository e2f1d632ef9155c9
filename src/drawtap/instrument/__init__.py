"""From specification and hooks to native code: the tap and every module that a user's script makes."""
