package meshvet.lib.duration_test

import data.meshvet.lib.duration
import rego.v1

test_durations if {
	duration.nanoseconds("90s") == 90000000000
	duration.nanoseconds("1m30s") == 90000000000
	duration.nanoseconds("2h") == 7200000000000
	duration.nanoseconds("1.5s") == 1500000000
	duration.nanoseconds("250ms") == 250000000
	duration.nanoseconds("1h0m30s") == 3630000000000
	duration.nanoseconds("0s") == 0
}

# An error of a built-in would break the policy.
test_no_durations if {
	every text in ["", "none", "5", "s", "-1s", "1d", "9999999h", "1s1h", "1h 5m", 5, null, {"seconds": 5}] {
		not duration.nanoseconds(text)
	}
}

test_the_longest if duration.nanoseconds("999999h999999m999999999s") > 0
