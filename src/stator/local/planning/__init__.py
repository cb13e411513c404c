"""From a rendered graph to what runs on one machine. Pure: nothing is started, written or looked up."""
