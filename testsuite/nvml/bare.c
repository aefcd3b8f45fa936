/* bare.c - a libnvidia-ml.so.1 that is none: see README */
__attribute__((visibility("default"))) int nvmlOfAnotherWorld(void);

int nvmlOfAnotherWorld(void)
{
	return 0;
}
